"""The product test on cases of the zoo: which products and which other spaces are flagged.

The thresholds were chosen on the families of the tuning half, as in the zoo. "Prototype" is the
largest figure of the experiment that went before, on cases of the same kind, where there was one.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from functools import partial
from typing import Any

from benchmarks._measure import write_table
from benchmarks.zoo_cases.case import Case, all_cases
from benchmarks.zoo_cases.warped import coupled
from geodis import GeoManCER
from geodis.base.check import InputError

GROUPS = ("products", "embeddings", "homogeneous", "warped", "noise", "sampling", "told")
PRESETS = {
    "quick": ("spheres", "warped S^2 x S^2", "coupling column", "coupling by a random layer"),
    "full": (),
}
# Figures of the prototype by family and strength: its cv, which sees changes of scale alone.
PROTOTYPE = {
    ("warped S^2 x S^2", 0.05): 0.024,
    ("warped S^2 x S^2", 0.15): 0.064,
    ("warped S^2 x S^2", 0.3): 0.077,
    ("shrunken Hopf fibres", 0.25): 0.005,
    ("coupling column", 0.25): 0.0015,
    ("coupling column", 0.5): 0.0024,
}
PROTOTYPE_TOLD = {"S^4 told n_factors = 2": 0.125, "S^2 x S^2 told n_factors = 3": 0.053}


def chosen(preset: str, half: str | None) -> list[Case]:
    """Cases of the zoo, and two strengths of the coupling that the prototype missed."""
    cases = [case for case in all_cases() if case.group in GROUPS]
    for c in (0.25, 0.5):
        more = partial(coupled, 3000, c)
        cases.append(Case(f"c = {c:g}", more, ((4,),), c, family="coupling column", group="warped"))
    families = PRESETS[preset]
    return [
        case
        for case in cases
        if (not families or case.family in families) and half in (None, case.half)
    ]


def tested(case: Case, seed: int) -> dict[str, Any] | None:
    """One line of the table; None where one factor was found, or nothing could be tested."""
    est = GeoManCER(n_jobs=1, verbose=0, **case.fit)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            est.fit(case.cloud(seed).points)
            return None if est.n_factors_ < 2 else row_of(case, est)
    except InputError as error:
        print(f"{case.name}: {error}", file=sys.stderr)
        return None


def row_of(case: Case, est: GeoManCER) -> dict[str, Any]:
    """The line of a fit."""
    row: dict[str, Any] = {"half": case.half, "case": case.name}
    flagged = est.uncertain_
    begun = time.process_time()
    _ = est.maps_
    mapped = time.process_time()
    found = est.product_test_
    done = time.process_time()
    row["dims"] = " + ".join(map(str, est.factor_dims_))
    row["these are"] = truth(case, tuple(sorted(map(int, est.factor_dims_), reverse=True)))
    split = any(len(dims) > 1 for dims in found.splits)
    row["flagged"] = "yes" if split or not found.is_product else ""  # nearby, as the truth is
    row["by the fit"] = "yes" if flagged else ""
    assert found.worst is not None
    tensor = found.worst.tensor
    row["pair"] = f"{found.worst.factor} on {found.worst.other}"
    row.update({"strength": tensor.value, "low": tensor.low, "high": tensor.high})
    row.update({"scale alone": found.worst.scale.value})
    row.update({"null": tensor.null, "explained": found.worst.explained})
    row["least iso"], row["misfit"] = min(found.scales), max(found.misfits)
    row["merge"] = "" if found.merge is None else " and ".join(map(str, found.merge))
    row["splits"] = ", ".join(
        f"{j}: {' + '.join(map(str, dims))}" for j, dims in enumerate(found.splits) if len(dims) > 1
    )
    known = PROTOTYPE_TOLD.get(case.title)
    row["prototype"] = known or PROTOTYPE.get((case.family, case.strength or 0.0))
    row["maps, processor s"], row["test, processor s"] = mapped - begun, done - mapped
    return row


def truth(case: Case, dims: tuple[int, ...]) -> str:
    """Whether the factors that were found are right, wrong, or nobody minds."""
    if dims in case.accepted:
        return "either" if len(case.accepted) > 1 else "right"
    return "wrong"


def summed(rows: list[dict[str, Any]]) -> str:
    """How many of each kind are flagged, for the title."""
    parts = []
    for half in ("tuning", "held-out"):
        for kind in ("right", "either", "wrong"):
            own = [row for row in rows if row["half"] == half and row["these are"] == kind]
            count = sum(row["flagged"] == "yes" for row in own)
            parts.append(f"{half} {kind}: {count} of {len(own)}")
    return "; ".join(parts)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", choices=sorted(PRESETS), default="quick")
    parser.add_argument("--half", choices=("tuning", "held-out"))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args([] if arguments is None else arguments)
    rows = []
    for case in chosen(given.preset, given.half):
        row = tested(case, given.seed)
        if row is not None:
            print(row, flush=True)
            rows.append(row)
    title = f"The product test on the maps (flagged: {summed(rows)})"
    print(write_table("product_test", title, rows))


if __name__ == "__main__":
    main(sys.argv[1:])
