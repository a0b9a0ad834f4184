"""What the behaviour trees for Nav2 do: whom they ask, in which order, and what the controller is given."""

from pathlib import Path

import pytest
from helpers.behaviour_tree import FAILURE, RUNNING, SUCCESS, BehaviourTree

FOLDER = Path(__file__).parents[1] / 'config' / 'nav2'
TREES = {'navigate_to_pose': 'compute_path_to_pose', 'navigate_through_poses': 'compute_path_through_poses'}
DISTRIBUTIONS = ('jazzy', 'kilted', 'lyrical')
SELECTED = ('Controller', 'GoalChecker', 'PathHandler', 'Planner', 'ProgressChecker')
GOAL_OUTSIDE, NO_PATH, FAILED_TO_MAKE_PROGRESS = 204, 208, 105
HELPS = {'planner': {200, 207, 208, 300, 307, 308}, 'controller': {100, 102, 103, 104, 105, 106}}
CLEAR_GLOBAL = 'clear global_costmap/clear_entirely_global_costmap'
CLEAR_LOCAL = 'clear local_costmap/clear_entirely_local_costmap'


class Robot:
    """Nav2's servers, as they are wanted; `done` is what they were asked for, in order."""

    def __init__(self, distribution, tree):
        self.done = []
        self.codes = {'tb_planner': 0, 'planner_server': 0, 'controller': 0}
        self.tb_planner_responds = True
        self.tb_planner_has_died = False
        """Whether tb_planner has died after it accepted a goal."""
        self.is_near_the_goal = False
        self.path_is_valid = True
        self.paths = []
        """The paths that the controller was given."""
        action = TREES[tree]
        self.first, self.second = f'ask tb_planner/{action}', f'ask {action} for GridBased'
        leaves = {
            'ComputePathToPose': self.plan,
            'ComputePathThroughPoses': self.plan,
            'FollowPath': self.follow,
            **{f'{part}Selector': self.select for part in SELECTED},
            'RemovePassedGoals': lambda ports: (SUCCESS, {'output_goals': ports['input_goals']}),
            'WouldAPlannerRecoveryHelp': lambda ports: self.would_help('planner', ports),
            'WouldAControllerRecoveryHelp': lambda ports: self.would_help('controller', ports),
            'GoalUpdated': lambda _: (FAILURE, {}),
            'GlobalUpdatedGoal': lambda _: (FAILURE, {}),
            'IsGoalNearby': lambda ports: (SUCCESS if ports['path'] and self.is_near_the_goal else FAILURE, {}),
            'TruncatePathLocal': lambda ports: (SUCCESS, {'output_path': ports['input_path']}),
            'ValidatePath': lambda ports: (SUCCESS if self.path_is_valid else FAILURE, {}),
            'ClearEntireCostmap': lambda ports: self.do(f'clear {ports["service_name"]}'),
            'Spin': lambda _: self.do('spin'),
            'Wait': lambda _: self.do('wait'),
            'BackUp': lambda _: self.do('back up'),
        }
        file = FOLDER / distribution / f'{tree}.xml'
        self.tree = BehaviourTree(file, leaves, {'goal': 'there', 'goals': ['there']})

    @staticmethod
    def select(ports):
        (what,) = (port.removeprefix('default_') for port in ports if port.startswith('default_'))
        return SUCCESS, {f'selected_{what}': ports[f'default_{what}']}

    def do(self, what):
        self.done.append(what)
        return SUCCESS, {}

    def plan(self, ports):
        who = 'tb_planner' if ports['server_name'].startswith('tb_planner/') else 'planner_server'
        self.done.append(
            f'ask {ports["server_name"]}' + (f' for {ports["planner_id"]}' if 'planner_id' in ports else '')
        )
        assert 'there' in (ports.get('goal'), *ports.get('goals', []))
        if who == 'tb_planner' and not self.tb_planner_responds:
            return FAILURE, {}
        if who == 'tb_planner' and self.tb_planner_has_died:
            return RUNNING, {}
        code = self.codes[who]
        return (FAILURE, {'path': '', 'error_code_id': code}) if code else (SUCCESS, {'path': who, 'error_code_id': 0})

    def follow(self, ports):
        """Nav2's passes over an empty path."""
        assert ports['controller_id'] == 'FollowPath'
        if ports['path'] and ports['path'] != (self.paths or [''])[-1]:
            self.paths.append(ports['path'])
        code = self.codes['controller']
        return (FAILURE, {'error_code_id': code}) if code else (RUNNING, {})

    @staticmethod
    def would_help(whom, ports):
        return (SUCCESS if ports['error_code'] in HELPS[whom] else FAILURE), {}


@pytest.fixture(params=TREES)
def tree(request):
    return request.param


@pytest.fixture(params=DISTRIBUTIONS)
def robot(request, tree):
    return Robot(request.param, tree)


def test_while_tb_planner_responds_no_other_server_is_asked(robot):
    assert [robot.tree.tick(time_s) for time_s in (0, 0.1, 4, 8)] == [RUNNING] * 4
    assert robot.done == [robot.first] * 3
    assert robot.paths == ['tb_planner']


def test_planner_server_is_asked_where_tb_planner_has_no_path(robot):
    robot.codes['tb_planner'] = NO_PATH
    assert robot.tree.tick(0) == RUNNING
    assert robot.done == [robot.first, robot.second]
    assert robot.paths == ['planner_server']


def test_planner_server_is_asked_where_tb_planner_does_not_respond(robot):
    robot.tb_planner_responds = False
    assert robot.tree.tick(0) == RUNNING
    assert robot.done == [robot.first, robot.second]
    assert robot.paths == ['planner_server']


def test_planner_server_is_asked_where_tb_planner_dies_while_it_is_asked(robot):
    robot.tb_planner_has_died = True
    assert [robot.tree.tick(time_s) for time_s in (0, 1, 2, 3, 4)] == [RUNNING] * 5
    assert robot.second not in robot.done
    assert robot.tree.tick(5.1) == RUNNING
    assert robot.done[-1] == robot.second
    assert robot.paths == ['planner_server']


def test_tb_planner_is_asked_first_again_the_next_time(robot):
    robot.codes['tb_planner'] = NO_PATH
    robot.tree.tick(0)
    robot.codes['tb_planner'] = 0
    assert robot.tree.tick(4) == RUNNING
    assert robot.done[2:] == [robot.first]
    assert robot.paths == ['planner_server', 'tb_planner']


def test_without_any_path_costmaps_are_cleared_and_every_recovery_has_its_turn(robot):
    robot.codes.update(tb_planner=NO_PATH, planner_server=NO_PATH)
    assert robot.tree.tick(0) == FAILURE
    attempt = [robot.first, robot.second, CLEAR_GLOBAL, robot.first, robot.second]
    clearing = [CLEAR_LOCAL, CLEAR_GLOBAL]
    recoveries = [clearing, ['spin'], ['wait'], ['back up'], clearing, ['spin']]
    assert robot.done == [*attempt, *(step for recovery in recoveries for step in (*recovery, *attempt))]
    assert robot.paths == []


def test_where_no_recovery_would_help_none_is_tried(robot):
    robot.codes.update(tb_planner=GOAL_OUTSIDE, planner_server=GOAL_OUTSIDE)
    assert robot.tree.tick(0) == FAILURE
    assert robot.done == [robot.first, robot.second]


def test_a_controller_that_fails_gets_a_clear_costmap_and_then_recoveries(robot):
    robot.codes['controller'] = FAILED_TO_MAKE_PROGRESS
    assert robot.tree.tick(0) == FAILURE
    assert robot.done[:5] == [robot.first, CLEAR_LOCAL, CLEAR_LOCAL, CLEAR_GLOBAL, robot.first]
    assert [step for step in robot.done if step in ('spin', 'wait', 'back up')] == ['spin', 'wait', 'back up', 'spin']


def test_near_the_goal_lyrical_keeps_a_path_that_is_valid(tree):
    robot = Robot('lyrical', tree)
    robot.is_near_the_goal = True
    assert [robot.tree.tick(time_s) for time_s in (0, 4)] == [RUNNING] * 2
    assert robot.done == [robot.first]
    robot.path_is_valid = False
    robot.tree.tick(8)
    assert robot.done == [robot.first] * 2
