"""What a report found, for Python, for machines and for notebooks."""

from __future__ import annotations

import base64
import html
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from geodis import __version__
from geodis.base.write import to_jsonable, write_json
from geodis.report.material import Material
from geodis.report.parts import DistanceFindings, Part


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """Everything a report found; prints as its summary, and a notebook shows its figures.

    Attributes
    ----------
    summary : tuple of 3 str
        Plain sentences: of the geometry, the scores and the distances.
    warnings : tuple of str
        Where a number should not be trusted, and why.
    parts : dict of str to Part
        "inspection", "manifold", "scores", "distances": what each found, or why it did not.
    material : Material
        The rows that were used: `material.latents`, `material.factors`.
    settings : dict
        What the report was called with, and the names of what it was made from.
    path : Path or None
        The page, once written.
    figures : dict of str to Path
        Figures that were written, as PNG; each stands beside its SVG.
    """

    parts: Mapping[str, Part]
    material: Material
    settings: Mapping[str, Any]
    summary: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    path: Path | None = None
    figures: Mapping[str, Path] = field(default_factory=dict)

    @property
    def inspection(self) -> Any:
        """First look at the points: an `Inspection`, or None."""
        return self.parts["inspection"].value

    @property
    def manifold(self) -> Any:
        """The fitted `GeoManCER`, or None."""
        found = self.parts["manifold"].value
        return None if found is None else found[0]

    @property
    def factorised(self) -> Any:
        """The rows that it was fitted to, as `Material`, or None."""
        found = self.parts["manifold"].value
        return None if found is None else found[1]

    @property
    def scores(self) -> Any:
        """Every score, with chance levels and intervals: a `ScoreTable`, or None."""
        return self.parts["scores"].value

    @property
    def distances(self) -> Any:
        """Distances and how far they agree: `DistanceFindings`, or None."""
        return self.parts["distances"].value

    def __str__(self) -> str:
        lines = list(self.summary)
        if self.warnings:
            lines += ["", *(f"note: {text}" for text in self.warnings)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The summary, the scores and the figures, without scripts; the page has the rest."""
        pieces = [f"<p>{html.escape(text)}</p>" for text in self.summary]
        if self.warnings:
            items = "".join(f"<li>{html.escape(text)}</li>" for text in self.warnings)
            pieces.append(f"<details><summary>Notes</summary><ul>{items}</ul></details>")
        if self.scores is not None:
            pieces.append(self.scores._repr_html_())
        for name, file in self.figures.items():
            if file.exists():
                code = base64.b64encode(file.read_bytes()).decode()
                pieces.append(
                    f'<img alt="{html.escape(name)}" style="max-width:100%" '
                    f'src="data:image/png;base64,{code}">'
                )
        if self.path is not None:
            pieces.append(f"<p>Interactive page: <code>{html.escape(str(self.path))}</code></p>")
        return "\n".join(pieces)

    def to_dict(self) -> dict[str, Any]:
        """Every number, and how it was made, as plain values."""
        content: dict[str, Any] = {
            "summary": list(self.summary),
            "warnings": list(self.warnings),
            "settings": dict(self.settings),
            "rows": {
                "given": self.material.n_given,
                "used": len(self.material.rows),
                "columns": self.material.latents.shape[1],
            },
            "inspection": self.inspection and self.inspection.to_dict(),
            "manifold": self.manifold and _manifold(self.manifold, len(self.factorised.rows)),
            "scores": self.scores and self.scores.to_dict(),
            "distances": self.distances and _distances(self.distances),
            "failures": {name: part.failure for name, part in self.parts.items() if part.failure},
            "seconds": {name: round(part.seconds, 3) for name, part in self.parts.items()},
            "versions": versions(),
        }
        return to_jsonable(content)

    def to_json(self, path: Any) -> Path:
        """Write `to_dict` to a file, whole or not at all."""
        return write_json(path, self.to_dict())


def _manifold(est: Any, n: int) -> dict[str, Any]:
    return {
        "n": n,
        "dim": est.dim_,
        "n_factors": est.n_factors_,
        "factor_dims": est.factor_dims_,
        "flat": est.flat_,
        "uncertain": est.uncertain_,
        "converged": est.converged_,
        "eigenvalues": est.eigenvalues_,
        "evidence": [asdict(item) for item in est.evidence_],
        "flat_evidence": _flat(est.flat_evidence_),
        "periods": est.periods_,
        "settings": est.get_params(),
        "seconds": est.seconds_,
    }


def _flat(evidence: Any) -> dict[str, Any] | None:
    """What is said of the flat part; the contrasts hold functions, and stay behind."""
    if evidence is None:
        return None
    kept = (
        "dim",
        "factor_dims",
        "hol",
        "turn",
        "rel",
        "instability",
        "contrast",
        "information",
        "reasons",
        "doubts",
        "notes",
    )
    return {name: getattr(evidence, name) for name in kept}


def _distances(found: DistanceFindings) -> dict[str, Any]:
    return {
        "correlations": found.correlations and found.correlations.to_dict(),
        "perceived ~ latent": found.plain and vars(found.plain),
        "matrices": found.matrices,
        "importance": found.importance and found.importance.to_dict(),
    }


def versions() -> dict[str, str]:
    """What the numbers were computed with."""
    import numpy
    import pandas
    import scipy
    import sklearn

    return {
        "geodis": __version__,
        "python": platform.python_version(),
        **{m.__name__: m.__version__ for m in (numpy, scipy, sklearn, pandas)},
    }
