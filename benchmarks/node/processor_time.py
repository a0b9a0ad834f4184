"""How much of the processor a process, and the whole machine, has had so far; Linux only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_TICKS_S = os.sysconf('SC_CLK_TCK')


class MachineTime(NamedTuple):
    """Seconds of all cores since the machine started."""

    busy_s: float
    stolen_s: float
    """By other machines on the same hardware."""


def process_time_s(pid: int) -> float:
    """Of all threads, in user and system mode."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()  # the name may hold anything
    return (int(fields[11]) + int(fields[12])) / _TICKS_S


def machine_time() -> MachineTime:
    first = Path('/proc/stat').read_text().splitlines()[0]
    user, nice, system, _, _, irq, softirq, steal = (int(field) / _TICKS_S for field in first.split()[1:9])
    return MachineTime(user + nice + system + irq + softirq, steal)
