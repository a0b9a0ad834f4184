"""Problems that the tuner draws on a map or takes from the goals of a bag."""

import numpy as np
import pytest
from helpers.tuning import CELLS, Clock, rooms, tuning_map

from tb_planner.config import PlannerParameters
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.tools.bags import BagGoals
from tb_planner.tools.cli import main
from tb_planner.tools.tuning.parameter_file import read_parameters
from tb_planner.tools.tuning.problems import NoProblems, TuningMap, bag_problems, draw_problems, repeated
from tb_planner.tools.tuning.time_limit import DRAWN_FRACTION, TimeLimit


class TestProblems:
    def test_are_the_same_for_the_same_seed(self, scattered_map, problems):
        again = draw_problems(scattered_map, len(problems), seed=1)
        assert [(p.start, p.goal, p.seed) for p in again] == [(p.start, p.goal, p.seed) for p in problems]
        assert [(p.start, p.goal) for p in draw_problems(scattered_map, 5, seed=2)] != [
            (p.start, p.goal) for p in problems[:5]
        ]

    def test_begin_and_end_in_known_cells(self):
        occupancy = np.full((40, 40), -1, np.int8)
        occupancy[10:20, 5:25] = 0
        for problem in draw_problems(TuningMap('known', occupancy, CELLS), 20, seed=0):
            for x, y in (problem.start, problem.goal):
                assert occupancy[y, x] == 0

    def test_are_refused_where_nothing_can_drive(self):
        for blocked in (np.ones((10, 10), bool), ~np.eye(10, dtype=bool)):
            with pytest.raises(NoProblems, match=r'no two of its \d+ free cells are connected'):
                draw_problems(tuning_map(blocked), 3, seed=0)


def goals_in_a_hall(count):
    """Each goal is a cell farther along a free map than the one before."""
    geometry = MapGeometry(120, 20, 0.5)
    trips = [(Pose2D(1.0, 1.0), Pose2D(8.0 + 0.5 * number, 8.0)) for number in range(count)]
    goals = BagGoals(np.zeros((20, 120), np.int8), geometry, trips, read_whole=True)
    return goals, TuningMap('bag', goals.occupancy, PlannerParameters().costmap_config(0.5))


class TestBag:
    @pytest.mark.parametrize(('count', 'asked'), [(50, 50), (80, 50), (10, 10)])
    def test_gives_problems_from_all_of_it(self, count, asked):
        drawn = bag_problems(*goals_in_a_hall(50), PlannerParameters(), count)
        numbers = [problem.goal[0] for problem in drawn]
        assert len(numbers) == len(set(numbers)) == asked
        assert set(np.diff(sorted(numbers))) == {50 // asked}

    def test_is_asked_no_longer_than_there_is_time(self):
        drawn = bag_problems(*goals_in_a_hall(50), PlannerParameters(), 50, TimeLimit(40, Clock()))
        assert 1 < len(drawn) <= 40 * DRAWN_FRACTION

    def test_gives_its_goals_again_with_other_seeds(self):
        drawn = repeated(draw_problems(tuning_map(rooms()), 3, seed=0), 7)
        assert [problem.start for problem in drawn[:4]] == [problem.start for problem in drawn[3:]]
        assert len({problem.seed for problem in drawn}) == 7

    def test_whose_goals_cannot_be_reached_is_refused(self):
        goals, map_ = goals_in_a_hall(1)
        goals.occupancy[:, 10] = 100
        with pytest.raises(NoProblems, match='none of 1 goals can be reached'):
            bag_problems(goals, map_, PlannerParameters(), 3)

    def test_gives_its_own_goals(self, tmp_path, capsys):
        pytest.importorskip('rosbags', reason="bags need rosbags: pip install '.[bags]'")
        from helpers import bag_files as files

        geometry = MapGeometry(61, 61, 0.5)
        messages = [
            (0.0, '/map', files.occupancy_grid(0.0, rooms() * 100, geometry)),
            (0.1, '/pose', files.pose_stamped(0.1, Pose2D(3.0, 3.0))),
            (0.2, '/goal_pose', files.pose_stamped(0.2, Pose2D(27.0, 27.0))),
        ]
        bag = files.write(tmp_path / 'bag', messages)
        command = ['tune', str(bag), '--problems', '4', '-o', str(tmp_path / 'tuned.yaml')]
        assert main(command) == 0
        assert 'bag: 61 x 61 cells of 0.5 m' in capsys.readouterr().out
        read_parameters(tmp_path / 'tuned.yaml')
        assert main(['tune', str(tmp_path), '-o', str(tmp_path / 'tuned.yaml')]) == 2
        assert 'metadata.yaml' in capsys.readouterr().err
