"""The table of correlations between kinds of distances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from geodis.distances.correlations import Correlation

if TYPE_CHECKING:
    import pandas

RANDOM = "random"

# Two kinds of distances that are correlated.
SourcePair = tuple[str, str]


@dataclass(frozen=True)
class DistanceCorrelations:
    """Correlations between kinds of distances; prints as a table.

    Attributes
    ----------
    factors : dict of str to dict of (source, source) to Correlation
        By name of the factor: over pairs along it.
    random : dict of (source, source) to Correlation
        Over pairs of points drawn at random (4.1).
    overall : dict of (source, source) to (float, float)
        Pearson and Spearman of the factors by geometric mean (4.3); 0 where any is not positive.
        Empty where every factor was left out.
    exact : dict of str to bool
        Whether all pairs along a factor, or all pairs for "random", were taken.
    loss : str
        Loss of the perceived distances.
    note : str
        Factors that were left out, what is missing from the grid, and intervals that are.
    """

    factors: Mapping[str, Mapping[SourcePair, Correlation]]
    random: Mapping[SourcePair, Correlation]
    overall: Mapping[SourcePair, tuple[float, float]]
    exact: Mapping[str, bool]
    loss: str = ""
    note: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """A table: linear and rank correlation for every two kinds of distances."""
        columns = list(self.random)
        rows = [("", *(f"{first} ~ {second}" for first, second in columns))]
        for name, by_pair in {RANDOM: self.random, **self.factors}.items():
            rows.append((name, *(_cell(by_pair[key]) for key in columns)))
        if self.overall:
            means = (f"{self.overall[key][0]:6.3f} {self.overall[key][1]:6.3f}" for key in columns)
            rows.append(("factors, geometric mean", *means))
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["Pearson and Spearman correlation of distances"]
        lines[0] += f", loss {self.loss}" if self.loss else ""
        for row in rows:
            cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
            lines.append("  ".join(cells).rstrip())
        notes = [f"{name}: {note}" for name, note in self._notes().items()]
        return "\n".join([*lines, *notes, *([self.note] if self.note else [])])

    def _notes(self) -> dict[str, str]:
        named = {RANDOM: self.random, **self.factors}
        notes = {}
        for name, by_pair in named.items():
            constant = [f"{x} ~ {y}" for (x, y), measured in by_pair.items() if measured.note]
            if constant:
                notes[name] = f"0 in {', '.join(constant)}, for one side has no order"
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""

        def plain(by_pair: Mapping[SourcePair, Correlation]) -> dict[str, Any]:
            return {f"{x} ~ {y}": vars(measured) for (x, y), measured in by_pair.items()}

        return {
            "loss": self.loss,
            "random": plain(self.random),
            "factors": {name: plain(by_pair) for name, by_pair in self.factors.items()},
            "overall": {
                f"{x} ~ {y}": {"pearson": pearson, "spearman": spearman}
                for (x, y), (pearson, spearman) in self.overall.items()
            },
            "exact": dict(self.exact),
            "note": self.note,
            "settings": dict(self.settings),
        }

    def frame(self) -> pandas.DataFrame:
        """A pandas table with a row for every factor and two sources."""
        import pandas

        rows = [
            {"factor": name, "a": x, "b": y, **vars(measured)}
            for name, by_pair in {RANDOM: self.random, **self.factors}.items()
            for (x, y), measured in by_pair.items()
        ]
        return pandas.DataFrame(rows)


def _cell(measured: Correlation) -> str:
    parts = []
    for value, span in (
        (measured.pearson, measured.pearson_interval),
        (measured.spearman, measured.spearman_interval),
    ):
        parts.append(f"{value:6.3f}" + (f" [{span[0]:.3f}, {span[1]:.3f}]" if span else ""))
    return " ".join(parts)
