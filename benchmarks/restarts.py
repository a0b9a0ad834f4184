"""Lazy against eager restarting, as in Figure 6 of the 2014 paper: search times by weight and change rate."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

from benchmarks.experiments import terrain
from benchmarks.experiments.engine import Experiment, Row, RunPlan, grouped, mean, table
from benchmarks.experiments.terrain import Blocked, GridProblem
from tb_planner import Changing, Grid, TimeBoundedPlanner, move_to_goal, tb_wa_star
from tb_planner.search.planner import UNBOUNDED

RATES = (1, 5, 10)
WEIGHTS = (1.0, 1.4, 1.8, 2.2, 2.6, 3.0)
RULES = ('eager', 'lazy', 'lazy_as_printed')


def plan(options: argparse.Namespace) -> RunPlan:
    size = max(40, int(1000 * (options.scale or (0.2 if options.quick else 1.0))))
    count = options.problems or (1 if options.quick else 5)
    total = count * len(RATES) * len(WEIGHTS) * len(RULES)
    return RunPlan(total, runs(size, count, options.repeats or (1 if options.quick else 2), options.seed))


def runs(size: int, count: int, repeats: int, seed: int) -> Iterator[Row]:
    """A row for each run, the fastest of its repeats; rules meet the same changes while they make the same moves."""
    blocked = terrain.random_obstacles(size, 0.1, seed)
    for number, problem in enumerate(terrain.problems(blocked, count, seed)):
        for rate in RATES:
            for w in WEIGHTS:
                for rule in RULES:
                    settings = {'size': size, 'problem': number, 'rate': rate, 'w': w, 'rule': rule}
                    records = [run(blocked, problem, rate, w, rule, seed + number) for _ in range(repeats)]
                    fastest = min(records, key=lambda record: record['search_time_s'])
                    yield {**settings, 'repeats': repeats, **fastest}


def run(blocked: Blocked, problem: GridProblem, rate: float, w: float, rule: str, seed: int) -> Row:
    """Search time is that of searches and of the restart rule; taking in the map costs every rule the same."""
    planner = TimeBoundedPlanner(Grid(blocked), *problem, tb_wa_star(w, restart=rule), k=UNBOUNDED)
    record = move_to_goal(planner, Changing(Grid(blocked), rate, seed=seed), clock=time.thread_time)
    return {
        'status': record.status.name,
        'search_time_s': record.search_time_s,
        'expansions': record.expansions,
        'searches': record.searches,
        'moves': record.moves,
        'cost': record.cost,
        'refused_moves': planner.refused_moves,
    }


def summary(rows: list[Row]) -> str:
    header = (
        *('rate %', 'w', 'eager ms', 'lazy ms', 'eager/lazy', 'searches: eager', 'lazy', 'cost: lazy/eager'),
        *('as printed ms', 'eager/as printed', 'moves refused'),
    )
    lines = []
    arrived = [row for group in grouped(rows, run_of).values() if all_arrived(group) for row in group]
    for (rate, w), group in grouped(arrived, lambda row: (row['rate'], row['w'])).items():
        lines.append((rate, w, *rule_figures(grouped(group, lambda row: row['rule']))))
    left_out = f'{len(rows) - len(arrived)} of {len(rows)} runs left out: not all rules arrived in that world'
    return '\nsearch time a run, k unbounded\n' + table(header, lines) + '\n' + left_out


def run_of(row: Row) -> tuple[object, ...]:
    return row['problem'], row['rate'], row['w']


def all_arrived(group: list[Row]) -> bool:
    return len(group) == len(RULES) and all(row['status'] == 'AT_GOAL' for row in group)


def rule_figures(by_rule: dict[str, list[Row]]) -> tuple[object, ...]:
    ms = {rule: 1e3 * mean(row['search_time_s'] for row in rows) for rule, rows in by_rule.items()}
    searches = {rule: mean(row['searches'] for row in rows) for rule, rows in by_rule.items()}
    cost = {rule: mean(row['cost'] for row in rows) for rule, rows in by_rule.items()}
    printed = 'lazy_as_printed'
    refused = sum(row['refused_moves'] for row in by_rule[printed])
    return (
        *(ms['eager'], ms['lazy'], ms['eager'] / ms['lazy'], searches['eager'], searches['lazy']),
        *(cost['lazy'] / cost['eager'], ms[printed], ms['eager'] / ms[printed], refused),
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--problems', type=int, help='problems for each rate, weight and rule (5)')


RESTARTS = Experiment('restarts', 'lazy against eager restarting on changing maps', add_arguments, plan, summary)
