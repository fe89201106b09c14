"""Two choices behind the split of flat factors, measured: neighbourhoods under noise, likelihood.

Under noise the error is that of the tangents, and a fit with few neighbours follows the noise.
Groups of several directions that look the same from all angles within are turned by the likelihood
of an Lp-nested prior, which is believed where it is the more stable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from geodis import GeoManCER, subspace_angles
from geodis.data.manifolds.directions import random_rotations
from geodis.data.manifolds.flat_products import CASES, FlatCase, flat_sample
from geodis.manifold import independent_rotation

NOISE = 0.03
FEW, AUTO = 30, "chosen"
NEIGHBOURS = (FEW, 60, 120, 240, 480, AUTO)
LIKELIHOOD = "Lp-nested likelihood"
GROUPED: tuple[FlatCase, ...] = ("disc x interval", "ball x interval", "disc x disc")

Row = dict[str, Any]


def neighbourhoods(n: int, seeds: Sequence[int], isomap: Callable[[Any, int], float]) -> list[Row]:
    """Degrees in the noisy box by neighbours of the tangent fit, and of Isomap + ICA.

    Parameters
    ----------
    n : int
    seeds : sequence of int
    isomap : callable
        Sample, seed -> degrees of the rival, on true tangents.
    """
    rows = []
    for seed in seeds:
        sample = flat_sample("box", n, noise=NOISE, random_state=seed)
        row: Row = {"seed": seed}
        for count in NEIGHBOURS:
            est = GeoManCER(
                3, tangent_neighbors=None if count == AUTO else min(int(count), n - 1), verbose=0
            ).fit(sample.points)
            subspaces = [est.subspace(j) for j in range(est.n_factors_)]
            row[str(count)] = float(np.degrees(subspace_angles(subspaces, sample.tangents).mean()))
        row["Isomap + ICA"] = isomap(sample, seed)
        rows.append(row)
    return rows


def likelihood_against_pairs(n: int, seeds: Sequence[int]) -> list[Row]:
    """Largest angle of a group, in degrees, of the best contrast of pairs and of the likelihood."""
    rows: list[Row] = []
    for case in GROUPED:
        made = CASES[case]
        for seed in seeds:
            rng = np.random.default_rng(seed)
            u = made.draw(n, rng)
            turn = random_rotations(1, u.shape[1], rng)[0]
            turned = independent_rotation(u @ turn.T, random_state=seed)
            pairs = [r for r in turned.contrasts if r.dims == made.dims and r.name != LIKELIHOOD]
            other = [r for r in turned.contrasts if r.name == LIKELIHOOD]
            if not pairs or not other or turned.dims != made.dims:
                rows.append({"case": case, "seed": seed})
                continue
            best = min(pairs, key=lambda result: result.instability)
            rows.append(
                {
                    "case": case,
                    "seed": seed,
                    "pairs": _off(best.rotation, turn.T, made.dims),
                    "likelihood": _off(other[0].rotation, turn.T, made.dims),
                    "believed": _off(turned.rotation, turn.T, made.dims),
                    "chosen": turned.contrast,
                }
            )
    return rows


def _off(estimated: np.ndarray, true: np.ndarray, dims: tuple[int, ...]) -> float:
    """Largest principal angle in degrees between groups of rows, best match within a size."""
    angles = []
    for a, b in pairwise(np.cumsum((0, *dims))):
        cosines = [
            np.linalg.svd(estimated[a:b] @ true[c:d].T, compute_uv=False).min()
            for c, d in pairwise(np.cumsum((0, *dims)))
            if d - c == b - a
        ]
        angles.append(np.degrees(np.arccos(min(1.0, max(cosines)))))
    return float(max(angles))


def lines_of(noisy: Sequence[Row], grouped: Sequence[Row]) -> list[str]:
    """Both tables, medians over seeds, in Markdown."""
    lines: list[str] = []
    if noisy:
        names = [name for name in noisy[0] if name != "seed"]
        lines += [
            "",
            "## Noise of .03 of the side: neighbours of the tangent fit",
            "",
            f"The box; medians of {len(noisy)} seed(s), degrees. GeoManCER chooses its "
            "neighbourhood by balancing noise against curvature; with the few neighbours that are "
            "best without noise the tangents follow it.",
            "",
            f"| neighbours | {' | '.join(names)} |",
            "|---" * (len(names) + 1) + "|",
            "| degrees | "
            + " | ".join(f"{np.median([row[name] for row in noisy]):.2f}" for name in names)
            + " |",
        ]
    if grouped:
        lines += [
            "",
            "## Factors of several dimensions: contrasts of pairs, or likelihood",
            "",
            "Rotation of given coordinates; median over seeds of the largest angle of a factor, in "
            "degrees. The likelihood is believed where it is the more stable between halves.",
            "",
            "| case | pairs | Lp-nested likelihood | believed | likelihood believed |",
            "|---|---|---|---|---|",
        ]
        for case in dict.fromkeys(row["case"] for row in grouped):
            own = [row for row in grouped if row["case"] == case and "pairs" in row]
            cells = [
                f"{np.median([row[key] for row in own]):.2f}" if own else ""
                for key in ("pairs", "likelihood", "believed")
            ]
            times = sum(row["chosen"] == LIKELIHOOD for row in own)
            lines.append(f"| {case} | {' | '.join(cells)} | {times} of {len(own)} seeds |")
    return lines
