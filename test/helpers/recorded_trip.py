"""A robot's trip through a map that changes, with its record."""

import numpy as np

from tb_planner.recording import About, Recorder, read_record

from .trip import Trip


class RecordedTrip(Trip):
    """A Trip that is recorded."""

    def __init__(self, path, *arguments, **options):
        super().__init__(*arguments, **options)
        self.recorder = Recorder(path, About('a trip', period_s=0.05, budget_s=0.01))
        self.seen = []

    def tick(self, noise=(0.0, 0.0), pose=True, **arguments):
        update = self._update
        arguments['search'] = self.recorder.searching(arguments.get('search'))
        tick = super().tick(noise, pose, **arguments)
        self.recorder.see(self.navigator, tick, update, self.history[-1].pose, 0.05 * len(self.seen))
        self.recorder.end_tick(0.001 * len(self.seen))
        planner = self.navigator.planner
        self.seen.append(
            {
                'blocked': self.blocked,
                'picture': np.full(self.blocked.shape, -1) if planner is None else planner.search_picture(),
                'route': [tuple(cell) for cell in self.navigator.plan_cells().tolist()],
                'backtracking': self.navigator.backtracking_length,
                'open_size': 0 if planner is None else planner.open_size,
            }
        )
        return tick

    def close(self, path):
        self.recorder.close()
        assert not self.recorder.error
        return read_record(path)
