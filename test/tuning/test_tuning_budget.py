"""How many expansions fit into a tick."""

import pytest
from helpers.tuning import result

from tb_planner.tools.tuning import study
from tb_planner.tools.tuning.study import CpuBudget, SearchSpeed, check_fits, fitting_k, measure_speed
from tb_planner.tools.tuning.trial import TrialConditions


class TestBudget:
    def test_is_a_part_of_a_tick(self):
        assert CpuBudget(20.0, 0.2).tick_s == pytest.approx(0.01)

    @pytest.mark.parametrize(
        ('tick_hz', 'cpu', 'message'), [(0, 0.2, '--tick-hz is 0'), (20, 0, '--cpu is 0'), (20, 1.5, '1.5')]
    )
    def test_out_of_range_is_refused(self, tick_hz, cpu, message):
        with pytest.raises(ValueError, match=message):
            CpuBudget(tick_hz, cpu)

    @pytest.mark.parametrize(
        ('greedy', 'others', 'expected_us'), [(1200, 10**6, 0.1), (2500, 10**6, 0.14), (300, 600, 0.86)]
    )
    def test_is_measured_in_ticks_that_are_full(self, greedy, others, expected_us, problems, monkeypatch):
        """A tick takes 0.1 ms, and 0.1 µs an expansion: only full ticks give the time of an expansion. Where no tick is
        full, all ticks count, and the time is doubled."""

        def pretend(problem, candidate, k, conditions, limit):
            expansions = min(k, greedy if candidate.algorithm == 'tb_gbfs' else others)
            return result(100, tick_s=1e-4 + 1e-7 * expansions, expansions=expansions)

        monkeypatch.setattr(study, 'run_trial', pretend)
        pace = measure_speed(problems[:3], TrialConditions('static'), 0.0075)
        assert 1e6 * pace.expansion_s == pytest.approx(expected_us, rel=0.1)

    def test_in_which_not_one_expansion_fits_is_refused(self):
        check_fits(CpuBudget(20.0, 1e-4), SearchSpeed(1e-6, 100))
        check_fits(CpuBudget(20.0, 1e-7), SearchSpeed(1e-6, 100, cut_short=True))  # too few ticks to decide
        with pytest.raises(
            ValueError, match=r'0.0038 µs for the search.* takes 1 µs on this computer; --cpu .* above 2.8e-05'
        ):
            check_fits(CpuBudget(20.0, 1e-7), SearchSpeed(1e-6, 100))

    def test_k_has_two_digits_and_fits(self):
        assert fitting_k(0.0075, 1.23e-7) == 60_000
        assert fitting_k(1e-9, 1e-6) == 1
        assert fitting_k(1e9, 1e-9) == 10**9
