"""Registry of the scores. Each score is registered by a decorator of its function.

Other packages register their scores in the same way, in a module named by an entry point of the
group "geodis.scores".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from inspect import signature
from math import isnan
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from geodis.base.check import InputError, MissingExtraError
from geodis.base.plugins import load_plugins
from geodis.scores.card import CLASSES, Card, Cost, Question, Score, Shown, read_card

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Modules with scores, in the order of the table. Scores of other packages come last.
MODULES = (
    "geodis.scores.information.mig",
    "geodis.scores.information.modularity",
    "geodis.scores.information.infomec",
    "geodis.scores.information.edi",
    "geodis.scores.information.t_mex",
    "geodis.scores.predictive.sap",
    "geodis.scores.predictive.dci",
    "geodis.scores.predictive.explicitness",
    "geodis.scores.predictive.downstream",
    "geodis.scores.interventional.beta_vae",
    "geodis.scores.interventional.factor_vae",
    "geodis.scores.interventional.irs",
    "geodis.scores.predictive.mcc",
    "geodis.scores.predictive.block_r2",
    "geodis.scores.geometry.tangent_match",
    "geodis.scores.geometry.d_lsbd",
    "geodis.scores.geometry.linearity_ratio",
    "geodis.scores.geometry.flatness",
    "geodis.scores.unsupervised.gaussian",
    "geodis.scores.unsupervised.windin",
)

Function = TypeVar("Function", bound=Callable[..., Any])


class ScoreTraits(TypedDict, total=False):
    """Keyword arguments of `register_score`, as described in `ScoreEntry`."""

    options: Mapping[str, Any]
    rows: Mapping[str, str]
    by_size: bool
    needs_factors: bool
    takes_continuous: bool
    takes_grid: bool
    takes_log_variances: bool
    also_sampled: bool
    takes_groups: bool
    needs_found: bool
    random: bool
    halves: bool
    default: bool
    lower_is_better: bool
    cost: Cost
    shown: Shown


@dataclass(frozen=True)
class ScoreEntry:
    """A registered score: its function, its inputs, and its description.

    Attributes
    ----------
    name : str
        Its name in `score_latents(scores=...)`.
    family : str
        Heading of its rows in the table.
    function : callable
        ``function(latents, factors, **options)`` -> `Score`, or a number.
    options : mapping
        Keyword arguments of the function.
    rows : mapping of str to str
        Row of the table -> source of its number: "" for the value of the result, or a key of its
        details. By default a single row, with the name and the value.
    by_size : bool
        Whether it has a row for every number of training rows, and one for the efficiency.
    needs_factors : bool
        If False, the function is called with latents alone, and the score has no chance level.
    takes_continuous : bool
        Whether continuous factors are passed without binning.
    takes_grid : bool
        Whether it samples from a `FactorGrid` directly instead of searching the rows.
    takes_log_variances : bool
        Whether it has an option `log_variances`, for Gaussian encoders. The default of this
        attribute, of `takes_groups` and of `random` is read from the signature of the function.
    also_sampled : bool
        Whether a second entry scores the sampled representation, where log-variances are given.
    takes_groups : bool
        Whether it has an option `groups`, and treats a factor of several columns as one.
    needs_found : bool
        Whether its groups must be a fitted `GeoManCER`. It runs by default if there is one.
    random : bool
        Whether it has an option `random_state`.
    halves : bool
        Whether intervals come from halves of the rows, for scores that must not see a row twice:
        those that hold rows out or search for traversals. Other scores are bootstrapped.
    default : bool
        Whether it runs when no scores are named.
    lower_is_better : bool
    cost : Cost
    shown : Shown
        Its title, and where it is shown besides the table.
    card : Card or None
        What it rewards, its range, its level by chance, and its source.
    """

    name: str
    family: str
    function: Callable[..., Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)
    by_size: bool = False
    needs_factors: bool = True
    takes_continuous: bool = False
    takes_grid: bool = False
    takes_log_variances: bool | None = None
    also_sampled: bool = False
    takes_groups: bool | None = None
    needs_found: bool = False
    random: bool | None = None
    halves: bool = False
    default: bool = True
    lower_is_better: bool = False
    cost: Cost = field(default_factory=Cost)
    shown: Shown = field(default_factory=Shown)
    card: Card | None = None

    def __post_init__(self) -> None:
        for trait, option in OF_SIGNATURE.items():
            if getattr(self, trait) is None:
                object.__setattr__(self, trait, self.has_option(option))

    def has_option(self, option: str) -> bool:
        """Return whether the function has an argument of this name."""
        return option in signature(self.function).parameters

    @property
    def is_ours(self) -> bool:
        """Whether the score is part of geodis."""
        return getattr(self.function, "__module__", None) in MODULES

    @property
    def row_names(self) -> tuple[str, ...]:
        """Rows known before the score runs; rows by size depend on the number of rows."""
        return (f"{self.name}_efficiency",) if self.by_size else tuple(self.rows or {self.name: ""})

    def title_of(self, row: str) -> str:
        """Return the title of a row for use in a sentence."""
        return (self.shown.title or self.name) + row.removeprefix(self.name).replace("_", " ")

    def has_chance(self, row: str) -> bool:
        """Return whether a row has a chance level. Efficiencies have none."""
        return not (self.by_size and row in self.row_names)

    @property
    def refusals(self) -> tuple[type[Exception], ...]:
        """Exceptions that mean "cannot be scored". Scores of other packages may raise anything."""
        return (InputError, MissingExtraError) if self.is_ours else (Exception,)

    def compute(self, *arguments: Any, **options: Any) -> Score:
        """Call the function with the options of the entry and further ones."""
        result = self.function(*arguments, **{**self.options, **options})
        return result if isinstance(result, Score) else Score(self.name, float(result))

    def rows_of(self, score: Score) -> dict[str, float]:
        """Return row -> number of a result."""
        if self.by_size:
            return self._rows_by_size(score)
        return {
            row: float(score) if key == "" else float(score.details[key])
            for row, key in (self.rows or {self.name: ""}).items()
        }

    def _rows_by_size(self, score: Score) -> dict[str, float]:
        sizes = zip(score.details["sizes"], score.details["accuracy"], strict=True)
        accuracies = {f"{self.name}_{size}": float(accuracy) for size, accuracy in sizes}
        efficiency = float(score.details["efficiency"])
        return accuracies | ({} if isnan(efficiency) else {f"{self.name}_efficiency": efficiency})


# Attributes of an entry read from the signature: attribute -> argument of the function.
OF_SIGNATURE = {
    "takes_log_variances": "log_variances",
    "takes_groups": "groups",
    "random": "random_state",
}

_REGISTERED: dict[str, ScoreEntry] = {}


def register_score(
    name: str | None = None,
    *,
    family: str,
    card: Card | None = None,
    answers: Question | Mapping[str, Question] | None = None,
    shapes: str = CLASSES,
    **traits: Unpack[ScoreTraits],
) -> Callable[[Function], Function]:
    """Make a decorator that adds a score to `score_latents`, the command line and the report.

    The function is not changed. Decorators may be stacked, for variants of a function with
    different options.

    Parameters
    ----------
    name : str, optional
        By default the name of the function. Names of scores, rows and families must be unique.
    family : str
        Heading of its rows: "information", "predictive", "interventional", "ratios",
        "unsupervised", or another.
    card : Card, optional
        Description of the score. The scores of geodis describe themselves in sections of their
        docstrings instead (`geodis.scores.card.read_card`).
    answers, shapes
        Parts of a card that is read from the docstring, as in `Card`.
    **traits
        options, rows, by_size, needs_factors, takes_continuous, takes_grid, takes_log_variances,
        also_sampled, takes_groups, needs_found, random, halves, default, lower_is_better, cost
        and shown, as in `geodis.scores.registry.ScoreEntry`.

    Returns
    -------
    callable
        Function -> the same function.

    Examples
    --------
    >>> import numpy as np
    >>> from geodis.scores import score_latents
    >>> @register_score(family="spread", needs_factors=False)
    ... def widest(latents):
    ...     return np.ptp(latents, axis=0).max()
    >>> score_latents([[0.0], [3.0]], [0, 1], ["widest"], verbose=False)["widest"]
    3.0
    >>> unregister_score("widest")
    """

    def register(function: Function) -> Function:
        entry = ScoreEntry(name or function.__name__, family, function, card=card, **traits)
        if not entry.is_ours:
            _import_modules()  # our names take precedence
        elif function.__doc__:  # python -OO strips docstrings
            described = read_card(function.__doc__, entry.name, answers=answers, shapes=shapes)
            entry = replace(entry, card=described)
        _add(entry)
        return function

    return register


def unregister_score(name: str) -> None:
    """Remove a registered score, for instance before it is defined again in a notebook."""
    if name not in _REGISTERED:
        raise InputError(f"name must be that of a registered score; got {name!r}.")
    del _REGISTERED[name]


def _add(entry: ScoreEntry) -> None:
    for kind, names in (("score", [entry.name]), ("row of a score", entry.row_names)):
        for name in names:
            _refuse_taken(kind, name, _meanings(families=True))
    _refuse_taken("family of scores", entry.family, _meanings(families=False))
    _REGISTERED[entry.name] = entry


def _refuse_taken(kind: str, name: str, meanings: Mapping[str, str]) -> None:
    if name in meanings:
        raise InputError(
            f"A {kind} needs a name of its own; got {name!r}, which is {meanings[name]}."
        )


def _meanings(families: bool) -> dict[str, str]:
    """Return taken name -> meaning, for rows, scores and, if wanted, families."""
    known = _REGISTERED.values()
    meanings = {entry.family: "a family of scores" for entry in known if families}
    for entry in known:
        meanings |= dict.fromkeys(entry.row_names, f"a row of {entry.name}")
    for entry in known:
        of = entry.function
        meanings[entry.name] = f"{of.__module__}.{getattr(of, '__qualname__', of)}"
    return meanings


@cache
def _import_modules() -> None:
    for module in MODULES:
        import_module(module)


def entries() -> tuple[ScoreEntry, ...]:
    """Return all scores in the order of the table: ours, then those of other packages.

    Examples
    --------
    >>> [entry.name for entry in entries()][:3]
    ['mig', 'robust_mig', 'mig_sup']
    """
    _import_modules()
    load_plugins("geodis.scores")
    place = {module: number for number, module in enumerate(MODULES)}
    return tuple(
        sorted(
            _REGISTERED.values(),
            key=lambda entry: place.get(getattr(entry.function, "__module__", ""), len(MODULES)),
        )
    )


def choose_scores(scores: str | Sequence[str] | None, *, found: bool = False) -> list[ScoreEntry]:
    """Return the entries of the given names and families, in the order of the table.

    With `found` groups of a fit, the default includes the scores that need a fit.
    """
    known = entries()
    usual = [entry for entry in known if entry.default or (found and entry.needs_found)]
    if scores is None:
        return usual
    wanted = [scores] if isinstance(scores, str) else list(scores)
    names, families = [entry.name for entry in known], {entry.family for entry in known}
    unknown = [name for name in wanted if name not in names and name not in families]
    if unknown or not wanted:
        raise InputError(
            f"scores must be names or families of scores; got "
            f"{', '.join(map(str, unknown)) or 'none'}. "
            f"Names: {', '.join(names)}. Families: {', '.join(sorted(families))}."
        )
    return [
        entry
        for entry in known
        if entry.name in wanted or (entry.family in wanted and entry in usual)
    ]
