"""The runs of a sweep, each named by a hash of everything that determines it, and their table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodis.base.check import InputError, check_int
from geodis.base.journal import digest_of, plain_digest
from geodis.base.write import to_jsonable, whole_file, without_formulas
from geodis.models.model import Model
from geodis.models.saving import KERNEL_FILE, model_named
from geodis.models.training.run_identity import FORMAT, is_own_class
from geodis.models.training.step import choose_device, stacked_precision
from geodis.models.training.train_options import TrainOptions, check_rate

if TYPE_CHECKING:
    import pandas as pd


# Options of training and their defaults; all other settings belong to the model. A plan resolves
# precision "auto": float32 for separate runs, and the result of `stacked_precision` for stacks.
TRAINING: dict[str, Any] = {
    "steps": 5000,
    "batch_size": 64,
    "learning_rate": None,
    "adversary_learning_rate": TrainOptions.adversary_learning_rate,
    "prior_learning_rate": TrainOptions.prior_learning_rate,
    "supervision": TrainOptions.supervision,
    "category": TrainOptions.category,
    "schedules": None,
    "horizon": None,
    "precision": "auto",
    "version": TrainOptions.version,
}
# Arguments of autoencoders that are modules, not plain values.
MODULES = ("prior", "encoder", "decoder")


@dataclass(frozen=True)
class ScoringPlan:
    """Which scores are computed, after which steps, and on how many images."""

    scores: tuple[str, ...] = ("mig", "dci", "sap")
    steps: tuple[int, ...] = ()
    n: int = 2000

    def __post_init__(self) -> None:
        from geodis.scores.registry import choose_scores

        if self.scores:
            choose_scores(list(self.scores))
        check_int(self.n, "n", low=10)
        for step in self.steps:
            check_int(step, "A step of score_at", low=1)


@dataclass(frozen=True)
class PlannedRun:
    """One run: a model with its settings, options of training, data and seed.

    Attributes
    ----------
    model : str
        Name of its class.
    options : dict
        Arguments of the constructor, except shape and seed.
    training : dict
        Every entry of `TRAINING`.
    data : str
        Name of the data set.
    seed : int
    identity : str
        Digest of all this, the data, the scores, and the name and revision of the class; it names
        the folder. Finished runs stay valid for other versions of the packages; resuming a run
        with another version is refused, as by `train`.
    named : dict
        Settings that the grid names, as written there.
    own_class : type, optional
        The class itself if it is not part of geodis, because workers cannot find it by name.
    """

    model: str
    options: Mapping[str, Any]
    training: Mapping[str, Any]
    data: str
    seed: int
    identity: str
    named: Mapping[str, Any] = field(default_factory=dict)
    own_class: type[Model] | None = None


def plan_runs(
    models: Sequence[Mapping[str, Any]],
    data: Mapping[str, str],
    seeds: Sequence[int],
    training: Mapping[str, Any],
    scoring: ScoringPlan,
    *,
    device: Any = "auto",
    stack: int = 1,
) -> list[PlannedRun]:
    """Expand a grid into runs.

    Parameters
    ----------
    models : sequence of mapping
        Each has a "model" and settings of its constructor or training. A list is expanded to its
        entries; a setting that is a list itself is written inside a list.
    data : mapping of str to str
        Fingerprint of every data set by its name.
    seeds : sequence of int
    training : mapping
        Default options of training for all models.
    scoring : ScoringPlan
    device : as for `train`
    stack : int
        Number of runs that are trained simultaneously, which changes the last digits.

    Returns
    -------
    list of PlannedRun
        Ordered by model, then data set, then seed; duplicates are removed.

    Examples
    --------
    >>> plan = plan_runs([{"model": "beta-vae", "beta": [1, 4]}], {"squares": "3f"}, range(3),
    ...                  {"steps": 100}, ScoringPlan())
    >>> len(plan), plan[0].model, plan[5].named, plan[5].seed
    (6, 'BetaVAE', {'beta': 4}, 2)
    """
    _check_known(training, "The sweep")
    _check_different(data)
    shared = {**TRAINING, **training}
    where = choose_device(device)
    runs: dict[str, PlannedRun] = {}
    for entry in models:
        for name, named in _combinations(entry):
            kind = model_named(name)
            own = {key: value for key, value in named.items() if key not in TRAINING}
            own, named_by = _with_loss(own)
            own_class = kind if is_own_class(kind) else None
            _check_modules(kind, own)
            trained = {**shared, **{key: named[key] for key in named if key in TRAINING}}
            _check_training(trained, scoring)
            if trained["precision"] == "auto":
                stacked = stack > 1
                trained["precision"] = stacked_precision("auto", where) if stacked else "float32"
            what = {
                **({} if stack == 1 else {"stack": stack}),
                **({} if own_class is None else {"own_class": kind.__qualname__}),
                "format": FORMAT,
                "revision": kind.revision,
                "model": kind.__name__,
                # With the defaults of the class, so that another default makes another run.
                "options": kind.with_defaults(named_by),
                "training": trained,
                "device": where.type,
                "scores": list(scoring.scores),
                "score_at": sorted(scoring.steps),
                "n": scoring.n,
            }
            for data_name, seed in product(data, seeds):
                check_int(seed, "A seed", low=0)
                identity = plain_digest({**what, "data": data[data_name], "seed": seed})
                run = PlannedRun(
                    kind.__name__, own, trained, data_name, seed, identity, named, own_class
                )
                runs.setdefault(identity, run)
    return list(runs.values())


def _combinations(entry: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and settings of every model that an entry describes."""
    if not isinstance(entry, Mapping) or "model" not in entry:
        raise InputError(f"An entry of models must name its model, as model='vae'; got {entry!r}.")
    _check_plain(entry)
    if empty := [name for name, value in entry.items() if isinstance(value, list) and not value]:
        raise InputError(f"{empty[0]} must have at least one value; got an empty list.")
    choices = [value if isinstance(value, list) else [value] for value in entry.values()]
    for values in product(*choices):
        named = dict(zip(entry, values, strict=True))
        yield named.pop("model"), named


def _check_plain(entry: Mapping[str, Any]) -> None:
    try:
        json.dumps(to_jsonable(dict(entry)))
    except TypeError as error:
        raise InputError(
            f"Settings of a sweep must be plain values, which name a run; got {error}."
        ) from None
    if "random_state" in entry:
        raise InputError("A sweep seeds its models by seeds=...; got random_state.")


def _check_modules(kind: type[Model], options: Mapping[str, Any]) -> None:
    given = [name for name in MODULES if options.get(name) is not None]
    if given and not is_own_class(kind):
        raise InputError(
            f"{given[0]} is a torch module, which a sweep has no name for: define a class of model "
            f"that has it; got {options[given[0]]!r}."
        )


def _with_loss(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Replace a kernel file by its absolute path, and for the identity by its digest."""
    loss = options.get("loss")
    if not (isinstance(loss, str) and loss.endswith(KERNEL_FILE)):
        return dict(options), dict(options)
    file = Path(loss).expanduser().absolute()
    try:
        content = digest_of([file.read_bytes()])
    except OSError as error:
        raise InputError(f"{loss} must be the file of a learnt kernel; got {error}.") from None
    return {**options, "loss": str(file)}, {**options, "loss": f"kernel {content}"}


def _check_different(data: Mapping[str, str]) -> None:
    names: dict[str, str] = {}
    for name, fingerprint in data.items():
        other = names.setdefault(fingerprint, name)
        if other != name:
            raise InputError(
                f"Data sets must differ; got the same images as {other} and as {name}."
            )


def _check_known(training: Mapping[str, Any], who: str) -> None:
    if not isinstance(training, Mapping):
        raise InputError(f"training must be a table, as steps = 5000; got {training!r}.")
    if unknown := sorted(set(training) - set(TRAINING)):
        raise InputError(f"{who} trains by {', '.join(TRAINING)}; got {', '.join(unknown)}.")


def _check_training(training: Mapping[str, Any], scoring: ScoringPlan) -> None:
    steps = check_int(training["steps"], "steps", low=1)
    check_int(training["batch_size"], "batch_size", low=2)
    if training["learning_rate"] is not None:
        check_rate(training["learning_rate"], "learning_rate")
    _check_schedules(training["schedules"])
    options_of_training(training)
    if late := [step for step in scoring.steps if step > steps]:
        raise InputError(f"score_at must be steps up to {steps}; got {late[0]}.")


def _check_schedules(schedules: Any) -> None:
    if schedules is None:
        return
    if not isinstance(schedules, Mapping) or not all(
        isinstance(ends, list | tuple) for ends in schedules.values()
    ):
        raise InputError(
            "schedules must be a table of settings with their (start, end), as "
            f"{{ beta = [0.0, 4.0] }}; got {schedules!r}."
        )


def options_of_training(training: Mapping[str, Any], **more: Any) -> TrainOptions:
    """Make the `TrainOptions` of a run, with further options."""
    own = {
        key: value
        for key, value in training.items()
        if key not in ("steps", "batch_size", "learning_rate")
    }
    schedules = own.pop("schedules")
    if schedules is not None:
        own["schedules"] = {name: tuple(ends) for name, ends in schedules.items()}
    return TrainOptions(**own, **more)


# The table of a sweep: one row per run and step, with settings, terms and scores

TABLE = "table"


def table_of(runs: Sequence[PlannedRun], rows: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Make a table of the finished runs, in the order of the plan.

    Parameters
    ----------
    runs : sequence of PlannedRun
    rows : mapping of str to mapping
        The row file of every finished run, by identity.

    Returns
    -------
    DataFrame
        Columns "run", "model", "data", "seed", the settings that the grid names, "training steps",
        "training batch_size" and other options of training that differ from their defaults,
        "step", "term ...", "score ..." and, for priors that learn, "exponent 1", ... from the
        smallest. Runs that diverged have the column "error" in all rows, and a last row without
        step and scores. Unfinished runs are left out.
    """
    import pandas as pd

    lines: list[dict[str, Any]] = []
    trained = _training_columns(runs)
    for run in runs:
        row = rows.get(run.identity)
        if row is None:
            continue
        whose = {
            "run": run.identity,
            "model": run.model,
            "data": run.data,
            "seed": run.seed,
            **{name: _cell(value) for name, value in run.named.items()},
            **{f"training {name}": _cell(run.training[name]) for name in trained},
        }
        scored = [{k: v for k, v in each.items() if k != "scored"} for each in row["scored"]]
        if "error" in row:
            scored = [{**each, "error": row["error"]} for each in (*scored, {})]
        lines += [{**whose, **each} for each in scored]
    settings = [*_in_order(run.named for run in runs), *(f"training {name}" for name in trained)]
    found = _in_order(lines)
    terms = [name for name in found if name.startswith("term ")]
    scores = [name for name in found if name.startswith("score ")]
    scores += [name for name in found if name.startswith("exponent ")]
    error = ["error"] if "error" in found else []
    columns = ["run", "model", "data", "seed", *settings, "step", *terms, *scores, *error]
    return pd.DataFrame(lines, columns=columns)


def _training_columns(runs: Sequence[PlannedRun]) -> list[str]:
    """Choose the options of training that have a column: some always, others if not default."""
    always = ("steps", "batch_size", "precision")
    return [
        name
        for name, default in TRAINING.items()
        if runs and (name in always or any(run.training[name] != default for run in runs))
    ]


def _cell(value: Any) -> Any:
    """Convert a setting to a cell; lists and tables become text."""
    return value if value is None or isinstance(value, str | int | float) else repr(value)


def _in_order(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Collect names in the order of their first appearance."""
    return list(dict.fromkeys(name for entry in entries for name in entry))


def write_sweep_table(table: pd.DataFrame, folder: Path) -> list[Path]:
    """Write a table as CSV and, if pyarrow is installed, as parquet."""
    paths = [folder / f"{TABLE}.csv"]
    with whole_file(paths[0], durable=True) as temporary:
        without_formulas(table).to_csv(temporary, index=False)
    if find_spec("pyarrow") is not None:
        # parquet has no type for a column with both texts and numbers.
        typed = table.apply(lambda column: column.map(_text) if _is_mixed(column) else column)
        paths.append(folder / f"{TABLE}.parquet")
        with whole_file(paths[1], durable=True) as temporary:
            typed.to_parquet(temporary, index=False)
    return paths


def _is_mixed(column: pd.Series) -> bool:
    kinds = {type(value) for value in column if value is not None and value == value}
    return column.dtype == object and len(kinds) > 1


def _text(value: Any) -> str | None:
    return None if value is None or value != value else str(value)
