"""Real-time search: LRTA*, LSS-LRTA*, P LRTA*, RTAA* and daRTAA*: one agent with different rules.

What they have in common: before a move the agent looks ahead from where it is, k expansions at most; it raises h where
the look-ahead shows that it is too low, and moves. The next search starts from scratch, but for h. All are complete: on
a map that stays, or on unknown terrain, the agent reaches its goal if a path leads there. If none does, it walks for
ever, unless its look-ahead covers all that it can reach: then its status is NO_PATH.

Choices that their papers leave open, or in which they differ, the same for all:

- **One move a search**, as in the 2009 paper ("for each action") and in the 2012 paper's game time model. The papers on
  LSS-LRTA*, RTAA* and daRTAA* let the agent go on to the end of the path found; `movements` asks for that. Intervals in
  which it goes on have no expansions, and a path of which a step is illegal now or costs more is dropped.
- **A map that changes.** h stays admissible and consistent while costs rise, as it does on unknown terrain. When a cost
  falls, all that was learned is forgotten, as TBAA* does here.
- **Every search is made**, also when the last one has reached the goal: the goal is then found again in as many
  expansions as the path has steps, or a few more, because h is exact along it.
- **Back-moves** are the time-bounded algorithms' own: these agents have no tree to go back in, and report none.
"""

from __future__ import annotations

from functools import partial

from benchmarks.baselines import local_search
from benchmarks.baselines.agent import Baseline
from tb_planner.geometry import Cell
from tb_planner.search.algorithms import TIES
from tb_planner.search.grid import Grid, GridChange
from tb_planner.search.planner import UNBOUNDED, Status, check_whole

LOOK_AHEAD = ('neighbours', 'breadth_first', 'best_first')  # the core's numbers for them
LEARNING = ('current', 'dijkstra', 'adaptive', 'prioritised')


class RealTimeAgent(Baseline):
    """An agent with these rules; the partials below explain its numbers.

    learning: of the current state, of all closed ones by Dijkstra's algorithm or by f - g, or by a queue.
    """

    def __init__(
        self,
        look_ahead: str,
        learning: str,
        grid: Grid,
        start: Cell,
        goal: Cell,
        k: int,
        *,
        avoid_depressions: bool = False,
        ties: str = 'lifo',
        depth: int | None = None,
        movements: int | None = 1,
        queue_size: int | None = None,
    ):
        super().__init__(grid, start, goal, k)
        if ties not in TIES:
            raise ValueError(f'ties is {ties!r}; it must be one of {", ".join(TIES)}')
        for what, value in (('depth', depth), ('movements', movements), ('queue_size', queue_size)):
            if value is not None:
                check_whole(what, value, 1)
        self._search = local_search.LocalSearch(*self._search_arguments())
        self._search.configure(
            LOOK_AHEAD.index(look_ahead),
            LEARNING.index(learning),
            avoid_depressions,
            ties == 'larger_g',
            depth or UNBOUNDED,
            movements or UNBOUNDED,
            min(self.k - 1 if queue_size is None else queue_size, grid.width * grid.height),
        )

    def map_changed(self, change: GridChange) -> bool:
        """True if something was given up for it: what was learned, a path, or the opinion that there is none."""
        if not change:
            return False
        gives_up = bool(len(change.decreased)) or self.status == Status.NO_PATH
        if len(change.decreased):
            self._search.forget_learned()
        if not self._search.path_is_valid():
            self._search.drop_path()
            gives_up = True
        if self.status == Status.NO_PATH:
            self.status = Status.WAITED
        return gives_up


lrta_star = partial(RealTimeAgent, 'breadth_first', 'current')
"""Learning Real-Time A* (Korf, Real-time heuristic search, AIJ 1990), with the look-ahead of the 2009 paper.

A breadth-first search closes all states fewer than `depth` steps away (1: the agent's own alone), at most k of
them; without a depth, k of them. The agent makes the first step towards the best state of the frontier,
and h of the state it leaves becomes what that state promises: Korf's mini-min rule. On open ground that is
(2 depth - 1)^2 expansions, 961 for the 2009 paper's largest depth of 16, which fits its limit of 1000.

Left open: how a state within the look-ahead counts whose own h has been raised before. Taken by the letter (only
the frontier's h counts) an agent can pace for ever: from each of two states the best state of the frontier lies
behind the other, and h rises no more. Korf's agent takes the stored value of a state that it has visited, and does
not look beyond it. Here the larger one of both counts, which keeps h admissible and the agent complete. So the
worth of a state is max(h(s), min of c(s, t) + worth(t)), worked out from the frontier inwards as in Dijkstra's
algorithm; paths within the look-ahead are shortest ones then, although the search goes by steps. Of equally good
first steps the first direction is taken (N, E, S, W, NE, SE, SW, NW); Korf draws. With a depth above 1 h need not
stay consistent, because it rises in one state at a time.
"""

lss_lrta_star = partial(RealTimeAgent, 'best_first', 'dijkstra')
"""LSS-LRTA* (Koenig and Sun, Comparing real-time and incremental heuristic search, JAAMAS 2009).

It is what the 2009 paper calls K LRTA* (Koenig, AAMAS 2004): an A*-shaped look-ahead of k expansions, h of all
states in it by Dijkstra's algorithm, then one action. Koenig and Sun's agent goes on to the end of its path:
movements=None.

Left open: ties in Open, here the planner's. h rises and stays consistent.
"""

p_lrta_star = partial(RealTimeAgent, 'neighbours', 'prioritised')
"""Prioritised LRTA* (Rayner, Davison, Bulitko, Anderson and Lu, Real-time heuristic search with a priority queue,
IJCAI 2007).

The agent's state is updated, h(s) := min of c(s, t) + h(t); whenever h rises anywhere, all neighbours go into a
queue by the amount of the rise. Then states are taken from the queue and updated, the largest rise first. An update
looks at all neighbours of a state, so it is an expansion: there are k in an interval, the agent's own included.
Then the agent steps to the neighbour with the least c(s, t) + h(t).

Left open: how the number of updates goes with the size of the queue, the 2009 paper's only number for it. Here the
queue holds k - 1 states if no queue_size is given: the number that can be updated. What is left in it waits for the
next interval. A full queue takes in a state only for one of lower priority, the oldest of the lowest; a state in it
twice has the larger priority. Ties go to the newest state, and for the step to the first direction.
"""

rtaa_star = partial(RealTimeAgent, 'best_first', 'adaptive')
"""Real-Time Adaptive A* (Koenig and Likhachev, AAMAS 2006).

A* for k expansions, or until the goal would be expanded; with s' the state that would be next, h(s) := f(s') - g(s)
for all closed states, and the agent goes towards s'. h rises and stays consistent.

Left open: `movements`, which its paper has as a parameter; None goes to s'. h is updated at once and not when next
needed, as the 2012 paper has it: the values are the same.
"""

da_rtaa_star = partial(RealTimeAgent, 'best_first', 'adaptive', avoid_depressions=True)
"""Depression-avoiding RTAA*: move to border (Hernández and Baier, Avoiding and escaping depressions in real-time
heuristic search, JAIR 2012).

RTAA*, but the agent goes towards the state of Open whose h has been raised least above H, the user-given one; of
several, to the one with the lowest f. What is learned is RTAA*'s, by the lowest f of Open and not by the f of the
state chosen, so h stays consistent.

Left open: `movements`; its paper goes to the end of the path, the 2012 one makes a move an interval. Looking
through Open for the state is not counted as expansions.
"""
