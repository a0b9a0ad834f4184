"""What the tuner writes is what a node reads."""

import dataclasses

import pytest
import rclpy
from rclpy.node import Node

from tb_planner.config import PlannerParameters
from tb_planner.ros.params import declare
from tb_planner.tools.tuning.parameter_file import parameter_file, with_candidate
from tb_planner.tools.tuning.study import CpuBudget
from tb_planner.tools.tuning.trial import Candidate

TUNED = with_candidate(
    PlannerParameters(), Candidate('tb_wa_star', 1.35, 'path_cost_increased'), 48_000, CpuBudget(12.5, 0.2)
)
ODD = dataclasses.replace(TUNED, global_frame="it's/odd", robot_base_frame='no', min_improvement=1e-5)


@pytest.mark.parametrize('parameters', [TUNED, ODD], ids=['tuned', 'odd'])
@pytest.mark.parametrize('namespace', ['/', '/robot1'])
def test_a_node_reads_every_value_as_it_was_written(parameters, namespace, tmp_path):
    path = tmp_path / 'planner.yaml'
    path.write_text(parameter_file(parameters, 'at 0.2 µs an expansion', {'weight': 'tuned: -1.0 % ± 0.2'}))
    context = rclpy.Context()
    context.init(['--ros-args', '--params-file', str(path)])
    try:
        node = Node('tb_planner', namespace=namespace, context=context)
        assert declare(node, PlannerParameters) == parameters
        node.destroy_node()
    finally:
        context.shutdown()
