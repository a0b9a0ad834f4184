"""Draws docs/node-graph.svg: what the planner node publishes, subscribes to, serves and calls.

Run it with `python docs/node_graph.py`, after docs/sros2_policy.py: the names are those of the SROS2 policy, which that
script reads from running nodes. What every node or lifecycle node has is left out.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from drawing import FAINT, INK, Drawing

POLICY = Path(__file__).parents[1] / 'config' / 'sros2' / 'policy.xml'
IN_THE_PICTURE = {
    ('topics', 'subscribe'): 'subscribes to',
    ('topics', 'publish'): 'publishes',
    ('services', 'reply'): 'services',
    ('actions', 'execute'): 'action servers',
    ('actions', 'call'): 'action client',
}
"""What a node may do, by the policy's words."""
OF_EVERY_NODE = ('/parameter_events', '/rosout', '~/transition_event')
LIFECYCLE_AND_PARAMETERS = ('parameter', 'state', 'transition', 'type_description')
"""Words in the names of services that every lifecycle node has."""
IF = {
    **{'goal_pose': 'subscribe_goal_pose', 'map_updates': 'map_msgs', 'pose': 'pose_source: topic'},
    **{'/tf': 'pose_source: tf', '/tf_static': 'pose_source: tf', '/clock': 'use_sim_time', 'bond': 'nav2'},
    **{'follow_path/_action/status': 'nav2', 'is_path_valid': 'nav2', 'compute_path_to_pose': 'nav2'},
    **{'compute_path_through_poses': 'nav2', 'follow_path': 'output: follow_path'},
}
"""What the node needs to have the name: a parameter, or a package."""
WIDTH, ROW, TOP, BOTTOM = 860, 27, 58, 22
LEFT, NODE, RIGHT = (16, 236), (318, 250), (634, 210)
"""Columns: left side and width."""
TOPIC, SERVED, BODY = '#ddeefa', '#fdeed3', '#f6f8fa'


def names() -> dict[str, list[str]]:
    """The names by what the planner's process does with them."""
    found: dict[str, list[str]] = {kind: [] for kind in IN_THE_PICTURE.values()}
    (enclave,) = ElementTree.parse(POLICY).iterfind(".//enclave[@path='/tb_planner/planner']")
    for profile in enclave.iter('profile'):
        for (group, right), kind in IN_THE_PICTURE.items():
            for one in profile.findall(f"{group}[@{right}='ALLOW']/*"):
                if not is_standard(name := str(one.text)) and name not in found[kind]:
                    found[kind].append(name)
    order = ['', *IF]  # what is always there comes first
    return {
        kind: sorted(listed, key=lambda name: order.index(name) if name in IF else 0) for kind, listed in found.items()
    }


def is_standard(name: str) -> bool:
    return name in OF_EVERY_NODE or (name.startswith('~/') and any(word in name for word in LIFECYCLE_AND_PARAMETERS))


def picture() -> Drawing:
    """Topics on both sides of the node; services and actions in it."""
    found = names()
    served = {kind: found[kind] for kind in ('services', 'action servers', 'action client')}
    rows = max(len(found['subscribes to']), len(found['publishes']), sum(len(some) + 1 for some in served.values()))
    description = '; '.join(f'{kind}: {", ".join(listed)}' for kind, listed in found.items())
    height = TOP + ROW * rows + BOTTOM
    title = 'The planner node: topics, services and actions'
    drawing = Drawing(WIDTH, height, title, f'{description}.')
    drawing.rectangle(NODE[0], TOP - 40, NODE[1], ROW * rows + 50, BODY, edge=INK, radius=8)
    drawing.text(NODE[0] + NODE[1] / 2, TOP - 18, 'tb_planner', anchor='middle', bold=True, size=15)
    middle = TOP + ROW * rows / 2
    for kind, (x, width) in (('subscribes to', LEFT), ('publishes', RIGHT)):
        drawing.text(x, TOP - 18, kind, bold=True)
        top = middle - ROW * len(found[kind]) / 2
        for row, name in enumerate(found[kind]):
            y = top + ROW * row
            box(drawing, x, y, width, name, TOPIC)
            edge = y + ROW / 2 - 2
            if kind == 'publishes':
                drawing.line([(NODE[0] + NODE[1], edge), (x - 3, edge)], arrow=True)
            else:
                drawing.line([(x + width, edge), (NODE[0] - 3, edge)], arrow=True)
    y = float(TOP)
    for kind, listed in served.items():
        drawing.text(NODE[0] + 12, y + 16, kind, bold=True)
        for row, name in enumerate(listed, 1):
            box(drawing, NODE[0] + 10, y + ROW * row, NODE[1] - 20, name, SERVED)
        y += ROW * (len(listed) + 1)
    return drawing


def box(drawing: Drawing, x: float, y: float, width: float, name: str, colour: str) -> None:
    drawing.rectangle(x, y, width, ROW - 4, colour, radius=5)
    drawing.text(x + 8, y + 16, name, size=12.5)
    if name in IF:
        drawing.text(x + width - 8, y + 15.5, IF[name], anchor='end', size=10, colour=FAINT)


if __name__ == '__main__':
    picture().write('node-graph.svg')
