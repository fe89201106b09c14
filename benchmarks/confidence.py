"""Confidence: the share of points whose true error lies inside its interval, and the time it takes.

Ten products, each clean, noisy and bent: turned by a random rotation of the ambient space, which
mixes the factors' coordinates, and wound in each of them on a circle, an exact isometry that is no
product of immersions. The error is the largest principal angle to the true tangent space at the
point without noise. The seeds are none that the method was developed with.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

from benchmarks._measure import write_table
from geodis import GeoManCER, product_manifold
from geodis.manifold import FitConfidence, fit_confidence
from geodis.manifold.confidence.likely_errors import match_factors
from geodis.manifold.local.angles import principal_angles

PRODUCTS = {
    "S^2 x S^2": 3000,
    "S^3 x S^2": 4000,
    "S^2 x S^1": 2000,
    "SO(3) x S^2": 5000,
    "S^2 x S^2 x S^2": 5000,
    "ellipsoid(1,1.5,2) x S^2": 4000,
    "torus(2,0.7) x S^2": 5000,
    "S^2 x S^2(3)": 4000,
    "S^3 x S^3": 5000,
    "S^4 x S^2": 6000,
}
KINDS = ("clean", "noisy", "bent")
SEEDS = {"quick": (11,), "full": (11, 12)}
# Of the circles that coordinates are wound on.
CURVATURE = 0.8
TIMED = [
    (spec, n, noise)
    for spec in ("S^2 x S^2", "S^3 x S^2")
    for n in (2000, 20_000)
    for noise in (0, 0.02)
]
REPEATS = 3
Drawn = tuple[np.ndarray, list[np.ndarray]]


def draw(spec: str, n: int, kind: str, seed: int) -> Drawn:
    noise = (0.02, 0.03)[seed % 2] if kind == "noisy" else 0.0
    sample = product_manifold(spec, n, rotate=kind == "bent", noise=noise, random_state=seed)
    if kind != "bent":
        return sample.points, sample.tangents
    angle = CURVATURE * sample.points
    points = np.stack([np.cos(angle), np.sin(angle)], axis=2) / CURVATURE
    along = np.stack([-np.sin(angle), np.cos(angle)], axis=2)
    tangents = [
        (own[..., None] * along[:, None]).reshape(n, own.shape[1], -1) for own in sample.tangents
    ]
    return points.reshape(n, -1), tangents


def covered(est: GeoManCER, confidence: FitConfidence, true: list[np.ndarray]) -> dict[str, Any]:
    """Share of points and factors inside, and the median error and bound in degrees."""
    dims = confidence.dims
    order = np.argsort([-own.shape[1] for own in true], kind="stable")
    axes = match_factors(est.axes_, np.concatenate([true[j] for j in order], axis=1), dims)[0]
    stops = np.cumsum(dims)[:-1]
    pairs = zip(np.split(est.axes_, stops, axis=1), np.split(axes, stops, axis=1), strict=True)
    errors = np.stack([principal_angles(own, other) for own, other in pairs], axis=1)
    return {
        "inside": float((errors <= confidence.angles).mean()),
        "median error": float(np.degrees(np.median(errors))),
        "median bound": float(np.degrees(np.median(confidence.angles))),
    }


def coverage(preset: str) -> list[dict[str, Any]]:
    rows = []
    for kind in KINDS:
        for spec, n in PRODUCTS.items():
            for seed in SEEDS[preset]:
                points, true = draw(spec, n, kind, seed)
                dim = sum(own.shape[1] for own in true)
                est = GeoManCER(dim, verbose=0).fit(points)
                row = {"kind": kind, "product": spec, "n": n, "seed": seed}
                row["found"] = " + ".join(map(str, est.factor_dims_))
                rows.append(row)
                if sorted(est.factor_dims_) != sorted(own.shape[1] for own in true):
                    continue
                quick = fit_confidence(est, quick=True, repeats=0, verbose=0)
                row.update(covered(est, quick, true))
                row["noise found"] = quick.noise
                if seed == SEEDS[preset][0]:  # takes as long as the fit
                    full = fit_confidence(est, repeats=0, verbose=0)
                    row["inside, full"] = covered(est, full, true)["inside"]
                print(row, flush=True)
    return rows


def tables_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How many of the cases of each kind lie between 80 and 97 per cent."""
    summed = []
    for kind in KINDS:
        row: dict[str, Any] = {"kind": kind}
        for name, form in (("inside", "quick"), ("inside, full", "full")):
            inside = np.array([r[name] for r in rows if r["kind"] == kind and name in r])
            within = int(((inside >= 0.8) & (inside <= 0.97)).sum())
            row[f"{form}: cases in .80 to .97"] = f"{within} of {len(inside)}"
            row[f"{form}: mean"] = float(inside.mean())
            row[f"{form}: lowest"], row[f"{form}: highest"] = (
                float(inside.min()),
                float(inside.max()),
            )
        summed.append(row)
    return summed


def times() -> list[dict[str, Any]]:
    """Seconds of the processor, which hardly feel what else the machine does."""
    rows = []
    for spec, n, noise in TIMED:
        points = product_manifold(spec, n, noise=noise, random_state=0).points
        fits, quick = [], []
        for _ in range(REPEATS):
            begun = time.process_time()
            est = GeoManCER(verbose=0).fit(points)
            fitted = time.process_time()
            confidence = fit_confidence(est, quick=True, verbose=0)
            fits.append(fitted - begun)
            quick.append(time.process_time() - fitted)
        rows.append(
            {
                "product": spec,
                "n": n,
                "noise": noise,
                "fit, processor s": min(fits),
                "quick, processor s": min(quick),
                "quick / fit": min(quick) / min(fits),
                "found again": f"{confidence.agreeing} of {sum(confidence.found.values())}",
            }
        )
    return rows


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", choices=sorted(SEEDS), default="quick")
    chosen = parser.parse_args([] if arguments is None else arguments)
    rows = coverage(chosen.preset)
    print(write_table("confidence", "Confidence: inside 90 % intervals", tables_of(rows)))
    print(write_table("confidence_cases", "Confidence: inside 90 % intervals, by case", rows))
    print(write_table("confidence_time", "Confidence: the quick form beside the fit", times()))


if __name__ == "__main__":
    main(sys.argv[1:])
