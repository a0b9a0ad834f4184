"""Lazy against eager restarting, as in Figure 6 of the 2014 paper: search times by weight and change rate."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np

from tb_planner import Changing, Grid, Status, TimeBoundedPlanner, tb_wa_star
from tb_planner.benchmark import terrain
from tb_planner.benchmark.experiment import Experiment, Plan, Row, grouped, mean, table
from tb_planner.benchmark.terrain import Blocked, Problem

RATES = (1, 5, 10)
WEIGHTS = (1.0, 1.4, 1.8, 2.2, 2.6, 3.0)
RULES = ('eager', 'lazy', 'lazy_as_printed')
UNBOUNDED = 1 << 40


def plan(options: argparse.Namespace) -> Plan:
    size = max(40, int(1000 * (options.scale or (0.2 if options.quick else 1.0))))
    count = options.problems or (1 if options.quick else 5)
    total = count * len(RATES) * len(WEIGHTS) * len(RULES)
    return Plan(total, runs(size, count, options.seed))


def runs(size: int, count: int, seed: int) -> Iterator[Row]:
    """A row for each run; the rules meet the same changes as long as they make the same moves."""
    blocked = terrain.random_obstacles(size, 0.1, seed)
    for number, problem in enumerate(terrain.problems(blocked, count, seed)):
        for rate in RATES:
            for w in WEIGHTS:
                for rule in RULES:
                    settings = {'size': size, 'problem': number, 'rate': rate, 'w': w, 'rule': rule}
                    yield {**settings, **run(blocked, problem, rate, w, rule, seed + number)}


def run(blocked: Blocked, problem: Problem, rate: float, w: float, rule: str, seed: int) -> Row:
    """MoveToGoal() with the clock on search and restart rule alone: taking in the map costs every rule the same."""
    planner = TimeBoundedPlanner(Grid(blocked), *problem, tb_wa_star(w, restart=rule), k=UNBOUNDED)
    world = Changing(Grid(blocked), rate, seed=seed)
    search_time_s = update_time_s = 0.0
    while planner.status < Status.AT_GOAL:
        here = np.array([planner.grid.state(planner.current_cell)], np.int32)
        begin = time.perf_counter()
        walked = planner.run(world.moves_until_news())
        search_time_s += time.perf_counter() - begin
        world.walk(np.concatenate((here, walked)))
        news = world.look(planner.current_cell, planner.goal) if len(walked) else None
        if news is not None:
            begin = time.perf_counter()
            change = planner.grid.update(*news)
            update_time_s += time.perf_counter() - begin
            begin = time.perf_counter()
            planner.map_changed(change)
            search_time_s += time.perf_counter() - begin
    return {
        'status': planner.status.name,
        'search_time_s': search_time_s,
        'update_time_s': update_time_s,
        'expansions': planner.expansions,
        'searches': planner.searches,
        'moves': planner.moves,
        'cost': planner.cost,
        'refused_moves': planner.refused_moves,
    }


def summary(rows: list[Row]) -> str:
    header = (
        *('rate %', 'w', 'eager ms', 'lazy ms', 'eager/lazy', 'searches: eager', 'lazy', 'cost: lazy/eager'),
        *('as printed ms', 'eager/as printed', 'moves refused'),
    )
    lines = []
    for (rate, w), group in grouped(rows, lambda row: (row['rate'], row['w'])).items():
        by_rule = grouped(group, lambda row: row['rule'])
        if len(by_rule) == len(RULES):
            lines.append((rate, w, *rule_figures(by_rule)))
    return '\nsearch time a run, k unbounded\n' + table(header, lines)


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
