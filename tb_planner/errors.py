"""The exceptions of tb_planner, all of one base class.

An exception lies in the module that raises it. Bad input is a ValueError as well, a failed operation a RuntimeError.
"No path" is not an exception but a status.

    TbPlannerError
    ├── BadInput (ValueError)
    │   ├── OutsideGrid           a cell or patch reaches outside the grid
    │   ├── StartBlocked          the start is blocked, and so are the cells near it
    │   ├── GoalBlocked           the goal is blocked, and so are the cells near it
    │   ├── BadMessage            a message is malformed or does not fit the others
    │   │   └── TransformNotReady  a frame is not known yet; its transform may arrive in a moment
    │   ├── BadParameters         parameters are unknown, of a wrong type or out of range
    │   ├── MapError              a map file cannot be read
    │   ├── BadRecord             a recording cannot be read
    │   │   ├── TooLarge          a recording is too large for the page
    │   │   └── TogetherTooLarge  several recordings are too large for one page
    │   ├── BadPageInput          a message to the live view is not one that a page sends
    │   ├── BagError              a bag cannot be used
    │   ├── ExportError           a record cannot be exported to this file
    │   ├── ScriptError           a script of obstacles cannot be read
    │   ├── NoPlace               a map has no place for a robot with its goal
    │   ├── NoProblems            a map has no problems to tune on
    │   ├── TooLittleTime         a time limit is too short to tune
    │   └── CannotStart           the simulator cannot start with its map, script or start pose
    ├── OperationFailed (RuntimeError)
    │   ├── IllegalMove           an agent tried a move that the world forbids
    │   ├── NotRecorded           a recording cannot be written
    │   ├── PictureError          a picture cannot be drawn or saved
    │   ├── MissingPackage        a package that ROS needs is not installed
    │   ├── CannotRun             the demo cannot run
    │   ├── CannotServe           the live view cannot open its port
    │   └── NoFreeDomain          every ROS domain is in use
    ├── PathNotChecked            it cannot be found out whether a path is valid
    ├── RequestFailed             a path request cannot be served; carries Nav2's error code
    └── TimeOver                  a time limit was reached
        └── TrialCutShort         ... in the middle of a trial; it carries the result so far

>>> from tb_planner import StartBlocked, TbPlannerError
>>> issubclass(StartBlocked, TbPlannerError), issubclass(StartBlocked, ValueError)
(True, True)
"""

import os
import signal
import sys
from types import FrameType

MAX_TEXT, TEXT_END = 3000, 1000
"""Characters of a log line, and how many of them are its end, where a traceback has its error: texts from outside may
be of any length."""


class TbPlannerError(Exception):
    """The base class of all exceptions of tb_planner."""


class BadInput(TbPlannerError, ValueError):
    """A value, a file or a message is wrong; the text names the value and the limit."""


class OperationFailed(TbPlannerError, RuntimeError):
    """An operation failed although its input was right."""


def cut(text: str) -> str:
    """The text; of a long one, its beginning and its end."""
    left_out = len(text) - MAX_TEXT
    return text if left_out <= 0 else f'{text[: MAX_TEXT - TEXT_END]} [{left_out} characters] {text[-TEXT_END:]}'


def is_command() -> bool:
    """Whether this process runs the command tb_planner, or python -m tb_planner, rather than another program."""
    arguments = getattr(sys, 'argv', None) or ['']
    if arguments[0] != '-m':
        return os.path.basename(arguments[0]) == 'tb_planner'
    return sys.orig_argv[-len(arguments)].removeprefix('-m') == 'tb_planner'  # a module is being looked for


def end_on_interrupt() -> None:
    """Makes Ctrl-C end this process with one line, until raise_on_interrupt(): for the time of the imports.

    NumPy turns a KeyboardInterrupt within its own imports into an ImportError with a page of advice.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def raise_on_interrupt() -> None:
    """Makes Ctrl-C raise KeyboardInterrupt again, after end_on_interrupt()."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, _: FrameType | None) -> None:
    """Ends this process by the signal, as Python does for Ctrl-C: the shell sees that it was interrupted."""
    print('\ntb_planner: interrupted', file=sys.stderr, flush=True)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
