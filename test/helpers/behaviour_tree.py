"""Runs a behaviour tree as BehaviorTree.CPP and Nav2's control nodes do, as far as our trees need it.

Leaves are functions of the test. All end at once, except the one that follows a path and one that dies while it is
asked. So only nodes that can be running keep a state: the current child, the number of retries, the time of the last
tick.
"""

import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

SUCCESS, FAILURE, RUNNING = 'success', 'failure', 'running'
Ports = dict[str, Any]
Leaf = Callable[[Ports], tuple[str, Ports]]
"""Values of the input ports to a status and the values of output ports."""


class BehaviourTree:
    def __init__(self, file: Path, leaves: dict[str, Leaf], blackboard: Ports) -> None:
        (root,) = next(ElementTree.parse(file).iter('BehaviorTree'))
        self._root = root
        self._leaves = leaves
        self._blackboard = dict(blackboard)
        self._state: dict[ElementTree.Element, Ports] = defaultdict(dict)
        self._now_s = 0.0
        self._controls = {
            'Sequence': self._sequence,
            'ReactiveSequence': self._sequence,  # the same where nothing below is running
            'Fallback': self._fallback,
            'Inverter': self._inverter,
            'Timeout': self._timeout,
            'ReactiveFallback': self._fallback,
            'PipelineSequence': self._pipeline_sequence,
            'RateController': self._rate_controller,
            'RecoveryNode': self._recovery_node,
            'RoundRobin': self._round_robin,
        }

    def tick(self, now_s: float) -> str:
        self._now_s = now_s
        return self._tick(self._root)

    def _tick(self, node: ElementTree.Element) -> str:
        return self._controls.get(node.tag, self._leaf)(node)

    def _halt(self, node: ElementTree.Element) -> None:
        for below in node.iter():
            self._state.pop(below, None)

    def _leaf(self, node: ElementTree.Element) -> str:
        given = {name: self._value(text) for name, text in node.attrib.items()}
        status, written_ports = self._leaves[node.tag](given)
        for port, value in written_ports.items():
            if port in node.attrib:
                self._blackboard[node.attrib[port].strip('{}')] = value
        return status

    def _value(self, text: str) -> Any:
        return self._blackboard.get(text.strip('{}')) if text.startswith('{') else text

    # ------------------------------------------------------------------------ of the library
    def _sequence(self, node: ElementTree.Element) -> str:
        return next((status for child in node if (status := self._tick(child)) != SUCCESS), SUCCESS)

    def _fallback(self, node: ElementTree.Element) -> str:
        return next((status for child in node if (status := self._tick(child)) != FAILURE), FAILURE)

    def _inverter(self, node: ElementTree.Element) -> str:
        return {SUCCESS: FAILURE, FAILURE: SUCCESS, RUNNING: RUNNING}[self._tick(node[0])]

    def _timeout(self, node: ElementTree.Element) -> str:
        state = self._state[node]
        since_s = state.setdefault('since_s', self._now_s)
        status = self._tick(node[0])
        if status == RUNNING and self._now_s - since_s >= float(node.attrib['msec']) / 1000:
            status = FAILURE
        if status != RUNNING:
            self._halt(node)
        return status

    # ------------------------------------------------------------------------ of Nav2
    def _pipeline_sequence(self, node: ElementTree.Element) -> str:
        """Earlier children are ticked again while a later one is running."""
        state = self._state[node]
        for i, child in enumerate(node):
            status = self._tick(child)
            if status == FAILURE:
                self._halt(node)
                return status
            if status == RUNNING and i >= state.get('last', 0):
                state['last'] = i
                return status
        self._halt(node)
        return SUCCESS

    def _rate_controller(self, node: ElementTree.Element) -> str:
        """RUNNING until its time has come; a running child is ticked on."""
        state = self._state[node]
        waits = state.get('status') != RUNNING
        if waits and 'since_s' in state and self._now_s - state['since_s'] < 1 / float(node.attrib['hz']):
            return RUNNING
        status = self._tick(node[0])
        self._state[node] = {'since_s': self._now_s, 'status': status}
        return status

    def _recovery_node(self, node: ElementTree.Element) -> str:
        """Ticks the first child; if it fails, the second, and the first again, up to number_of_retries times."""
        state, work, recovery = self._state[node], node[0], node[1]
        while (status := self._tick(work)) == FAILURE:
            if state.get('retries', 0) == int(node.attrib['number_of_retries']) or self._tick(recovery) == FAILURE:
                break
            state['retries'] = state.get('retries', 0) + 1
        if status != RUNNING:
            self._state.pop(node, None)
        return status

    def _round_robin(self, node: ElementTree.Element) -> str:
        """Each time the next child, until one succeeds or all have failed."""
        state = self._state[node]
        for _ in node:
            turn = state.get('turn', 0)
            state['turn'] = (turn + 1) % len(node)
            if self._tick(node[turn]) == SUCCESS:
                return SUCCESS
        return FAILURE
