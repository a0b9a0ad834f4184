"""Records a run in one compact file: the map and its changes, pose, route, expanded states, restarts, tick times."""

from tb_planner.recording.record import Record, Replay, read_record
from tb_planner.recording.recorder import RecordedWalk, Recorder
from tb_planner.recording.writer import About

__all__ = ['About', 'Record', 'RecordedWalk', 'Recorder', 'Replay', 'read_record']
