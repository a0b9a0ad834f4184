"""Parameters: one dataclass is the source of YAML, descriptors and error messages."""

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path

import pytest
import rclpy
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rclpy.parameter import Parameter

from tb_planner.config import HEADING, PlannerParameters
from tb_planner.parameters import as_table, as_yaml, parameter, specs
from tb_planner.ros import params as parameters
from tb_planner.ros.params import BadParameters, apply_changes, declare, read
from tb_planner.ros.throttled_log import ThrottledLog
from tb_planner.search.algorithms import ALGORITHMS, make_algorithm, takes_weight

CONFIG = Path(__file__).parents[2] / 'config' / 'planner.yaml'
KINDS = {'bool': bool, 'int': int, 'float': float, 'str': str}


@dataclass(frozen=True)
class Toy:
    speed: float = parameter(0.5, 'how fast', unit='m/s', low=0, high=2)
    count: int = parameter(3, 'how many', low=1)
    mode: str = parameter('slow', 'how it moves', choices=('slow', 'fast'))
    loud: bool = parameter(False, 'whether it makes noise', read_only=True)

    def problems(self):
        if self.mode == 'slow' and self.speed > 1:
            yield f'speed is {self.speed}; slow is at most 1'


@pytest.fixture
def node_with(context):
    """Makes nodes that are given these parameters at their start."""
    made = []

    def make(*arguments, namespace='', **overrides):
        node = rclpy.create_node(
            'toy' if not arguments else 'tb_planner',
            context=context,
            namespace=namespace,
            cli_args=['--ros-args', *arguments] if arguments else None,
            parameter_overrides=[Parameter(name, value=value) for name, value in overrides.items()],
        )
        node.log = ThrottledLog(node.get_logger())
        made.append(node)
        return node

    yield make
    for node in made:
        node.destroy_node()


def test_defaults_are_those_of_the_dataclass(node_with):
    assert declare(node_with(), Toy) == Toy()


def test_a_whole_number_is_taken_for_a_number(node_with):
    values = declare(node_with(speed=1), Toy)
    assert values == Toy(speed=1.0)
    assert type(values.speed) is float


def test_descriptors_have_unit_range_and_choices(node_with):
    node = node_with()
    declare(node, Toy)
    speed, count, mode, loud = node.describe_parameters(['speed', 'count', 'mode', 'loud'])
    assert speed.description == 'how fast [m/s]'
    assert (speed.floating_point_range[0].from_value, speed.floating_point_range[0].to_value) == (0.0, 2.0)
    assert count.integer_range[0].from_value == 1
    assert mode.additional_constraints == 'one of slow, fast'
    assert [item.read_only for item in (speed, count, mode, loud)] == [False, False, False, True]


def test_a_node_with_bad_values_does_not_start_and_names_all_of_them(node_with):
    node = node_with(speed=7.0, count=2.5, mode='flying', loud=True)
    with pytest.raises(BadParameters) as caught:
        declare(node, Toy)
    assert str(caught.value).splitlines() == [
        'speed is 7.0; it must be between 0 and 2',
        'count is 2.5; it must be a whole number',
        "mode is 'flying'; it must be one of slow, fast",
    ]


def test_a_node_cannot_start_with_values_that_do_not_fit_together(node_with):
    with pytest.raises(BadParameters, match=r'speed is 1.5; slow is at most 1'):
        declare(node_with(speed=1.5), Toy)


REFUSED = [
    ({'speed': -0.1}, 'speed'),
    ({'speed': math.nan}, 'speed'),
    ({'speed': math.inf}, 'speed'),
    ({'speed': 3}, 'speed is 3; it must be between 0 and 2'),
    ({'speed': 'fast'}, "speed is 'fast'; it must be a number"),
    ({'speed': True}, 'speed is True; it must be a number'),
    ({'speed': None}, 'speed is None; it must be a number'),
    ({'count': 0}, 'count'),
    ({'count': 2.0}, 'Wrong parameter type'),
    ({'mode': ''}, "mode is ''; it must be one of slow, fast"),
    ({'loud': True}, 'read-only'),
    ({'speed': 1.5}, 'slow is at most 1'),
    ({'speed': 1.5, 'mode': 'slow'}, 'slow is at most 1'),
]


@pytest.mark.parametrize(('changes', 'reason'), REFUSED)
def test_a_bad_change_is_refused_with_a_reason_and_the_old_value_stays(node_with, changes, reason):
    node = node_with()
    before = declare(node, Toy)
    applied = []
    apply_changes(node, Toy, applied.append)
    result = node.set_parameters_atomically([Parameter(name, value=value) for name, value in changes.items()])
    assert not result.successful
    assert reason in result.reason
    assert read(node, Toy) == before
    assert applied == []


def test_values_that_only_fit_together_are_set_together(node_with):
    node = node_with()
    declare(node, Toy)
    applied = []
    apply_changes(node, Toy, applied.append)
    result = node.set_parameters_atomically([Parameter('speed', value=1.5), Parameter('mode', value='fast')])
    assert result.successful
    assert applied == [Toy(speed=1.5, mode='fast')]


def test_the_node_itself_may_refuse_what_is_good_in_itself(node_with):
    node = node_with()
    declare(node, Toy)
    apply_changes(node, Toy, lambda _: None, lambda values: f'{values.count} is not today' if values.count > 5 else '')
    assert node.set_parameters([Parameter('count', value=9)])[0].reason == '9 is not today'
    assert node.set_parameters([Parameter('count', value=5)])[0].successful


def test_parameters_of_others_are_let_through(node_with):
    node = node_with()
    declare(node, Toy)
    node.declare_parameter('another', 1)
    applied = []
    apply_changes(node, Toy, applied.append)
    assert node.set_parameters([Parameter('another', value=2)])[0].successful
    assert applied == []


def test_a_misspelt_parameter_is_pointed_out(node_with, capfd):
    declare(node_with(sped=1.0, use_sim_time=False), Toy)
    log = capfd.readouterr().err
    assert 'toy has no parameter sped: its value is ignored; did you mean speed?' in log
    assert 'use_sim_time' not in log


# ------------------------------------------------------------------------------------------------------ the planner's
def test_the_yaml_file_is_made_of_the_dataclass():
    assert CONFIG.read_text() == as_yaml(PlannerParameters, 'tb_planner', HEADING), (
        'bring config/planner.yaml up to date: python docs/update_tables.py'
    )


def test_the_yaml_file_holds_every_default_and_nothing_else():
    values = yaml.safe_load(CONFIG.read_text())['/**/tb_planner']['ros__parameters']
    assert values == dataclasses.asdict(PlannerParameters())
    assert all(type(values[name]) is spec.kind for name, spec in specs(PlannerParameters).items())


@pytest.mark.parametrize('namespace', ['', 'robot1', 'fleet/robot2'])
def test_the_yaml_file_reaches_the_node_in_every_namespace(node_with, tmp_path, namespace):
    changed = tmp_path / 'planner.yaml'
    changed.write_text(CONFIG.read_text().replace('weight: 1.5', 'weight: 7.25'))
    node = node_with('--params-file', str(changed), namespace=namespace)
    assert declare(node, PlannerParameters) == PlannerParameters(weight=7.25)


def test_every_parameter_has_a_description_and_every_number_a_range():
    for spec in specs(PlannerParameters).values():
        assert spec.description
        assert spec.kind in (bool, str) or (spec.low is not None and spec.high is not None), spec.name
        assert spec.error(spec.default) == ''
        assert spec.name[-2:] not in ('_s', '_m') or spec.unit == spec.name[-1]


def test_the_table_names_every_parameter_with_its_default():
    rows = as_table(PlannerParameters).splitlines()[2:]
    assert [row.split('`')[1] for row in rows] == list(specs(PlannerParameters))
    assert '| `search_time_s` | `0.01` | s | 0.0001 to 10 |' in as_table(PlannerParameters)


def test_types_of_fields_are_those_of_their_defaults():
    for field in dataclasses.fields(PlannerParameters):
        assert KINDS[field.type] is type(field.default), field.name


@pytest.mark.parametrize(
    ('values', 'reason'),
    [
        ({'robot_radius_m': 0.6}, 'inflation_radius_m is 0.55; it must be at least robot_radius_m, 0.6'),
        ({'search_time_s': 0.2}, 'search_time_s is 0.2; it must be at most the period of 20.0 Hz, 0.05 s'),
        ({'global_frame': ''}, "global_frame is ''"),
        (
            {'compute_path_through_poses_action': 'compute_path_to_pose'},
            "both actions are named 'compute_path_to_pose'",
        ),
        ({'robot_base_frame': '/base_link'}, "robot_base_frame is '/base_link'"),
        ({'restart': 'lazy_as_printed'}, "restart is 'lazy_as_printed'"),
    ],
)
def test_values_that_no_robot_should_run_with_are_refused(node_with, values, reason):
    with pytest.raises(BadParameters, match=reason):
        declare(node_with(**values), PlannerParameters)


def test_search_time_does_not_matter_where_expansions_are_counted():
    assert list(PlannerParameters(search_time_s=0.2, expansions_per_tick=256).problems()) == []


def values_of(spec):
    if spec.choices:
        return st.sampled_from(spec.choices)
    if spec.kind is bool:
        return st.booleans()
    if spec.kind is str:
        return st.just(spec.default)
    numbers = st.integers if spec.kind is int else st.floats
    return numbers(spec.low, spec.high)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.fixed_dictionaries({name: values_of(spec) for name, spec in specs(PlannerParameters).items()}))
def test_the_core_accepts_all_values_that_are_not_refused(values):
    if next(parameters.find_errors(PlannerParameters, values), None) is None:
        chosen = PlannerParameters(**values)
        assert chosen.settings().algorithm.name == chosen.algorithm
        assert chosen.costmap_config(0.05).robot_radius_m == chosen.robot_radius_m


@pytest.mark.parametrize('name', ALGORITHMS)
def test_a_row_has_the_weight_and_the_rule_asked_for(name):
    row = PlannerParameters(algorithm=name, weight=3.0).settings().algorithm
    assert row == make_algorithm(name, 3.0)
    assert row.weight == 3.0 or not takes_weight(name)
    assert PlannerParameters(algorithm=name, restart='eager').settings().algorithm.restart == 'eager'


@pytest.mark.parametrize(('period_s', 'frequency', 'ticks'), [(0.0, 20.0, 0), (2.0, 20.0, 40), (0.01, 20.0, 1)])
def test_the_period_of_full_replans_is_counted_in_ticks(period_s, frequency, ticks):
    assert PlannerParameters(full_replan_period_s=period_s, tick_frequency=frequency).full_replan_ticks == ticks
