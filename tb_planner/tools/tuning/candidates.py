"""What is tried: rows of the table of algorithms, with weights and restart rules."""

from __future__ import annotations

from dataclasses import dataclass

from tb_planner.search.algorithms import Algorithm, make_algorithm, takes_weight

WEIGHTS = (1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.0, 5.0)


@dataclass(frozen=True)
class Candidate:
    """As the node's parameters name it; a restart of '' is the algorithm's own rule."""

    algorithm: str
    weight: float = 1.5
    restart: str = ''

    @property
    def row(self) -> Algorithm:
        return make_algorithm(self.algorithm, self.weight, self.restart)

    @property
    def greed(self) -> float:
        """w of g + w h; inf for greedy search."""
        return self.row.weight

    def is_like(self, other: Candidate) -> bool:
        """Whether it is the same by another name: a weight that is not used, a rule that is the algorithm's own."""
        ours, theirs = self.row, other.row
        return (ours.weight, ours.restart, ours.learn_h) == (theirs.weight, theirs.restart, theirs.learn_h)

    def __str__(self) -> str:
        weight = f'({self.weight:g})' if takes_weight(self.algorithm) else ''
        return f'{self.algorithm}{weight}' + f', {self.restart}' * bool(self.restart)


def candidates(world: str) -> tuple[Candidate, ...]:
    """Where the map stays as it is nothing restarts a search, and algorithms that differ in restarts alone are one.
    Where it becomes known on the way almost all costs that change rise: lazy and path_cost_increased are alike, and to
    start over with every step, as eager does, takes for ever."""
    rules = ('', 'path_cost_increased', 'eager') if world == 'changing' else ('',)
    weighted = [Candidate('tb_wa_star', weight, rule) for weight in WEIGHTS for rule in rules]
    if world == 'static':
        return Candidate('tba_star'), *weighted, Candidate('tb_gbfs')
    if world == 'unknown':
        return Candidate('tba_star'), Candidate('tbaa_star'), *weighted, Candidate('tb_gbfs')
    # rtba_star is tba_star with path_cost_increased; greedy search is never restarted by costs that fall
    shortest = Candidate('tba_star'), Candidate('tba_star', restart='eager'), Candidate('rtba_star')
    greedy = Candidate('tb_gbfs'), Candidate('tb_gbfs', restart='eager')
    return *shortest, Candidate('tbaa_star'), *weighted, *greedy
