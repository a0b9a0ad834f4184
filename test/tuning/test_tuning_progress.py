"""The line that tells how far the work is."""

import io

from tb_planner.tools.tuning.progress import ProgressLine


class TestProgress:
    def test_is_a_line_for_every_tenth_where_there_is_no_terminal(self):
        stream = io.StringIO()
        progress = ProgressLine(stream=stream)
        for percent in range(101):
            progress(percent / 100, 'working')
        assert stream.getvalue().count('working') == 11

    def test_of_work_that_is_longer_than_it_was_said_to_be_ends_at_all_of_it(self):
        """As of a bag whose metadata tells of too short a time."""
        stream = io.StringIO()
        progress = ProgressLine(stream=stream)
        for number in range(1000):
            progress(number, 'working')
        *_, last = stream.getvalue().splitlines()
        assert stream.getvalue().count('working') == 2
        assert last.startswith('100 %')
