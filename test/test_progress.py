"""The progress bar of tune and replay."""

import io

from tb_planner.tools.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_bar_shows_the_percentage_and_the_work():
    stream = Terminal()
    with progress_bar(stream) as progress:
        progress(0.5, 'drawing problems')
    assert ' 50 % ' in stream.getvalue()
    assert 'drawing problems' in stream.getvalue()


def test_work_that_takes_longer_than_announced_ends_at_100_percent():
    """The metadata of a bag may name too short a duration."""
    stream = Terminal()
    with progress_bar(stream) as progress:
        for number in range(1000):
            progress(number, 'replaying')
    assert '100 % ' in stream.getvalue()
    assert '101 % ' not in stream.getvalue()
    assert '999' not in stream.getvalue()


def test_nothing_is_drawn_elsewhere_than_on_a_terminal():
    stream = io.StringIO()
    with progress_bar(stream) as progress:
        progress(0.5, 'drawing problems')
    assert stream.getvalue() == ''
