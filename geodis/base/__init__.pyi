"""Public names, and where each lives: what runs and what type checkers read."""

from .check import (
    GeodisWarning as GeodisWarning,
    InputError as InputError,
    MissingExtraError as MissingExtraError,
    check_choice as check_choice,
)
from .write import whole_file as whole_file, write_json as write_json, to_jsonable as to_jsonable
from .progress import Stages as Stages
from .row_source import RowSource as RowSource
from .engine import open_engine as open_engine
from .engine import Engine as Engine, EngineError as EngineError, TaskOutcome as TaskOutcome
from .engine import tell_progress as tell_progress
