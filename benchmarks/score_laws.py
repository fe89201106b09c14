"""Changes of latents and factors that must not change a score, and for which score they may."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from geodis.scores.registry import entries

Sample: TypeAlias = tuple[Any, Any]
Change: TypeAlias = Callable[[np.ndarray, np.ndarray, np.random.Generator], Sample]


def _order_of_latents(z: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> Sample:
    return z[:, rng.permutation(z.shape[1])], f


def _order_of_factors(z: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> Sample:
    return z, f[:, rng.permutation(f.shape[1])]


def _order_of_rows(z: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> Sample:
    order = rng.permutation(len(z))
    return z[order], f[order]


def _unit(z: np.ndarray, f: np.ndarray, rng: np.random.Generator, power: int = 0) -> Sample:
    return np.ldexp(z, power or int(rng.integers(-40, 40))), f


def _units(z: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> Sample:
    return np.ldexp(z, rng.integers(-30, 30, z.shape[1])), f


def _origin(z: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> Sample:
    return z + rng.integers(-64, 64, z.shape[1]), f


def _sign(z: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> Sample:
    return z * rng.choice([-1.0, 1.0], z.shape[1]), f


def _as(kind: Callable[[np.ndarray], Any], z: np.ndarray, f: np.ndarray, _: Any) -> Sample:
    return kind(z), f


def _monotone(z: np.ndarray, f: np.ndarray, _: Any) -> Sample:
    return np.exp(z / 4), f


def _rising_values(z: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> Sample:
    return z, rng.integers(1, 5, f.shape[1]) * f + rng.integers(-9, 9, f.shape[1])


def _other_values(z: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> Sample:
    return z, np.stack([rng.permutation(50)[column] for column in f.T], axis=1)


def _names(z: np.ndarray, f: np.ndarray, _: Any) -> Sample:
    return z, {f"name {j}": f[:, j] for j in range(f.shape[1])}


def _labels(z: np.ndarray, f: np.ndarray, _: Any) -> Sample:
    return z, [[f"value {code:03}" for code in row] for row in f]


def _renamed_labels(z: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> Sample:
    names = [rng.permutation(50) for _ in range(f.shape[1])]
    rows = zip(*(names[j][f[:, j]] for j in range(f.shape[1])), strict=True)
    return z, [[f"value {code:03}" for code in row] for row in rows]


def _constant_factor(z: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> Sample:
    return z, np.column_stack([f, np.full(len(f), rng.integers(9))])


def _constant_latent(z: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> Sample:
    return np.column_stack([z, np.full(len(z), rng.standard_normal())]), f


def _rounding_beside(z: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> Sample:
    noise = np.spacing(3.7) * rng.integers(-2, 3, len(z))
    return np.column_stack([z, 3.7 + noise]), f


def _torch(z: np.ndarray) -> Any:
    import torch

    return torch.tensor(z)


def _frame(z: np.ndarray) -> Any:
    import pandas as pd

    return pd.DataFrame(z)


# What is changed, and nothing of the score with it.
LAWS: dict[str, Change] = {
    "again": lambda z, f, _: (z, f),
    "order of latents": _order_of_latents,
    "order of factors": _order_of_factors,
    "order of rows": _order_of_rows,
    "unit of all latents": _unit,
    "very small latents": partial(_unit, power=-600),
    "very large latents": partial(_unit, power=600),
    "unit of each latent": _units,
    "origin of each latent": _origin,
    "sign of each latent": _sign,
    "single precision": partial(_as, lambda z: z.astype(np.float32)),
    "half precision": partial(_as, lambda z: z.astype(np.float16)),
    "column-major": partial(_as, np.asfortranarray),
    "strided": partial(_as, lambda z: np.repeat(z, 2, axis=1)[:, ::2]),
    "list": partial(_as, lambda z: z.tolist()),
    "frame": partial(_as, _frame),
    "tensor": partial(_as, _torch),
    "monotone map of latents": _monotone,
    "affine map of values": _rising_values,
    "values in another order": _other_values,
    "names of factors": _names,
    "labels instead of codes": _labels,
    "labels in another order": _renamed_labels,
    "constant factor beside": _constant_factor,
    "constant latent beside": _constant_latent,
    "latent of rounding beside": _rounding_beside,
}
# What a change is compared with, where that is another change instead of the sample as it is.
COMPARED_WITH = {"labels in another order": "labels instead of codes"}
NO_LATENT_MORE = "its mean is over all latents, or its range depends on their number"
DRAWS_ROWS = "which rows are held out, or drawn, depends on their places"
ONE_SPACE = "it compares lengths in the space of all latents"
NUMBERS = "it takes the factor as a number"
BINS = "its bins are of equal width"
RAW = "its classifier is published on latents as they are"
ONE_LATENT = "with one latent there is no second, and its part is another one's"
IN_ORDER = "it goes along the values in their order"
FROM_BELOW = "a value on an edge is above it, and of equal splits the first is taken"
TIES = "lengths within the precision of the latents are nothing"
LENGTHS = "it takes a latent as a number, not as a rank"
DRAWS_NUMBERS = "numbers are drawn that belong to places or to the sense of a latent"
WIDEST = "a latent of a small range counts as dead"
CIRCLE = "an angle is a number that goes round in its order"
UNORDERED = "labels have no order to go along"
RATIOS = ("linearity_ratio", "axis_ratio", "axis_orientation", "flatness", "distance_correlation")
HELD_OUT = (
    "sap",
    "sap_continuous",
    "dci",
    "explicitness",
    "informativeness_r2",
    "downstream_logistic",
    "downstream_trees",
    "dci_es",
    "weak_mcc_linear",
    "weak_mcc_cca",
    "snc",
    "block_r2",
    "block_r2_kernel",
    "t_mex",
)
INFORMATION = (
    "mig",
    "robust_mig",
    "mig_sup",
    "modularity",
    "completeness",
    "mutual_info_score",
    "jemmig",
    "dcimig",
    "med",
    "minimality",
    "sufficiency",
)
INTERVENTIONAL = ("beta_vae", "factor_vae", "z_max_variance")
OF_RANKS = ("robust_mig", "dci", "downstream_trees", "mcc_spearman", "snc")
OF_NUMBERS = (
    "sap_continuous",
    "informativeness_r2",
    "mcc",
    "mcc_spearman",
    "weak_mcc_linear",
    "weak_mcc_cca",
    "block_r2",
    "block_r2_kernel",
    "dci_es",
    "t_mex",
)
ALONG = ("flatness", "distance_correlation", "equivariance")


def _all_but(names: tuple[str, ...], why: str, others: str) -> dict[str, str]:
    return {
        entry.name: why if entry.name in INFORMATION else others
        for entry in entries()
        if entry.name not in names
    }


OF_UNIT = {"sap": RAW, "beta_vae": RAW, "wasserstein_correlation": "it is a length"}
OF_COUNT = {
    "sap": ONE_LATENT,
    **dict.fromkeys(
        (
            "mig_sup",
            "modularity",
            "dci",
            "linearity_ratio",
            "axis_ratio",
            "axis_orientation",
            "mutual_info_score",
            "dci_es",
            "edi",
        ),
        NO_LATENT_MORE,
    ),
    "windin": DRAWS_NUMBERS,
}
# Scores for which a change is no law, and why.
NO_LAW: dict[str, Mapping[str, str]] = {
    "order of factors": dict.fromkeys((*INTERVENTIONAL, "equivariance"), DRAWS_ROWS),
    "order of rows": {
        **dict.fromkeys((*HELD_OUT, *INTERVENTIONAL, "windin"), DRAWS_ROWS),
        **dict.fromkeys(("infomec", "edi"), DRAWS_NUMBERS),
    },
    "values in another order": {
        **dict.fromkeys(INTERVENTIONAL, DRAWS_ROWS),
        **dict.fromkeys(OF_NUMBERS, NUMBERS),
        **dict.fromkeys(ALONG, IN_ORDER),
        "d_lsbd": CIRCLE,
    },
    "labels instead of codes": {
        **dict.fromkeys(OF_NUMBERS, NUMBERS),
        **dict.fromkeys(ALONG, UNORDERED),
        "d_lsbd": CIRCLE,
    },
    "labels in another order": dict.fromkeys(INTERVENTIONAL, DRAWS_ROWS),
    "unit of all latents": OF_UNIT,
    "very small latents": OF_UNIT,
    "very large latents": OF_UNIT,
    "unit of each latent": {
        "sap": RAW,
        "beta_vae": RAW,
        **dict.fromkeys(
            (*RATIOS, "irs", "wasserstein_correlation", "equivariance", "d_lsbd"), ONE_SPACE
        ),
        "infomec": WIDEST,
    },
    "origin of each latent": {"sap": RAW},
    "sign of each latent": {
        **dict.fromkeys((*INFORMATION, "dci", "downstream_trees", "snc"), FROM_BELOW),
        **dict.fromkeys(("infomec", "edi", "dci_es", "windin"), DRAWS_NUMBERS),
    },
    "half precision": dict.fromkeys(ALONG, TIES),
    "monotone map of latents": _all_but(OF_RANKS, BINS, LENGTHS),
    "constant latent beside": OF_COUNT,
    "latent of rounding beside": OF_COUNT,
}
# Scores that no sample without more than latents and factors can be given to.
NOT_HELD = {"tangent_match": "it needs a fit of the rows, and tests of its own hold it to laws"}
