"""Which scores there are, what each needs, and which of its numbers are rows of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from math import isnan
from typing import Any

from geodis.scores._result import Score


@dataclass(frozen=True)
class Entry:
    """One function, called once for a table.

    Attributes
    ----------
    name : str
        What `score_latents(scores=...)` calls it.
    family : str
        Heading under which its rows stand.
    function : str
        Its name in `geodis.scores`.
    options : mapping
        Keyword arguments.
    rows : mapping of str to str
        Row of the table -> where its number is: "" for the value of the result, or a key of its
        details. Empty for one row, of the name and the value.
    by_size : bool
        One row for every number of rows that was learnt from, and one for the efficiency.
    needs_factors : bool
        The others are unsupervised and have no chance level.
    takes_continuous : bool
        Continuous factors are used as they are.
    takes_grid : bool
        Draws from a `FactorGrid` itself, so that nothing has to be found among rows.
    random : bool
        Has a `random_state`.
    halves : bool
        Intervals come from halves of the rows: no row may be there twice, in what is learnt from
        and what is held out, or in two traversals.
    default : bool
        Runs unless scores are named.
    lower_is_better : bool
    """

    name: str
    family: str
    function: str
    options: Mapping[str, Any] = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)
    by_size: bool = False
    needs_factors: bool = True
    takes_continuous: bool = False
    takes_grid: bool = False
    random: bool = False
    halves: bool = False
    default: bool = True
    lower_is_better: bool = False

    def load(self) -> Callable[..., Any]:
        """Import the function, which is when its room is imported."""
        return getattr(import_module("geodis.scores"), self.function)

    def rows_of(self, score: Score) -> dict[str, float]:
        """Row -> number, of a result."""
        if self.by_size:
            sizes = zip(score.details["sizes"], score.details["accuracy"], strict=True)
            found = {f"{self.name}_{size}": float(accuracy) for size, accuracy in sizes}
            efficiency = float(score.details["efficiency"])
            return found | ({} if isnan(efficiency) else {f"{self.name}_efficiency": efficiency})
        keys = self.rows or {self.name: ""}
        return {
            row: float(score) if key == "" else float(score.details[key])
            for row, key in keys.items()
        }


def _plain(family: str, *names: str, **shared: Any) -> list[Entry]:
    return [Entry(name, family, name, **shared) for name in names]


ENTRIES: tuple[Entry, ...] = (
    *_plain("information", "mig", "robust_mig", "mig_sup", "modularity", "completeness"),
    Entry("sap", "predictive", "sap", random=True, halves=True),
    Entry(
        "sap_continuous",
        "predictive",
        "sap",
        {"continuous": True},
        takes_continuous=True,
        random=True,
        halves=True,
    ),
    Entry(
        "dci",
        "predictive",
        "dci",
        takes_continuous=True,
        random=True,
        halves=True,
        rows={
            "dci_disentanglement": "",
            "dci_completeness": "completeness",
            "dci_informativeness": "informativeness",
        },
    ),
    *_plain("predictive", "explicitness", random=True, halves=True),
    *_plain("predictive", "informativeness_r2", takes_continuous=True, random=True, halves=True),
    Entry(
        "downstream_logistic",
        "predictive",
        "downstream",
        {"model": "logistic"},
        by_size=True,
        random=True,
        halves=True,
    ),
    Entry(
        "downstream_trees",
        "predictive",
        "downstream",
        {"model": "trees"},
        by_size=True,
        random=True,
        halves=True,
        default=False,
    ),
    *_plain("interventional", "beta_vae", "factor_vae", "irs", takes_grid=True, random=True),
    *_plain(
        "ratios",
        "linearity_ratio",
        "axis_ratio",
        "axis_orientation",
        "flatness",
        "distance_correlation",
        takes_grid=True,
        random=True,
        halves=True,
    ),
    *_plain(
        "unsupervised",
        "gaussian_total_correlation",
        "mutual_info_score",
        needs_factors=False,
        lower_is_better=True,
    ),
    Entry(
        "wasserstein_correlation",
        "unsupervised",
        "wasserstein_correlation",
        rows={"wasserstein_correlation": "plain", "wasserstein_correlation_norm": "normalised"},
        needs_factors=False,
        lower_is_better=True,
    ),
)

BY_NAME = {entry.name: entry for entry in ENTRIES}
