"""Why claims fail: short texts for the report, by the claim's id, with figures from the results where there are any."""

from __future__ import annotations

from collections.abc import Callable

from tb_planner.benchmark.cells import Results

REASONS: dict[str, Callable[[Results], str]] = {}
"""A claim's id -> what is known of the reason; may raise NotRun, then the report has none."""
