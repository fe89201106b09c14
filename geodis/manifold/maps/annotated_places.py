"""Coordinates on the maps of factors -> an AnnData object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from geodis.base.check import InputError

if TYPE_CHECKING:
    from geodis.manifold.geomancer import GeoManCER


def write_places(
    adata: Any, places: np.ndarray, widths: Sequence[int], est: GeoManCER, key: str
) -> Any:
    """Write coordinates (n, r_0 + r_1 + ...) into `obsm`, and what they are into `uns`."""
    if not (hasattr(adata, "obsm") and hasattr(adata, "uns") and hasattr(adata, "obs_names")):
        raise InputError(f"adata must be an AnnData object; got {type(adata).__name__}.")
    n = len(adata.obs_names)
    if len(places) != n:
        raise InputError(
            f"adata must have the {len(places):,} rows that were fitted, or X must be given; got "
            f"{n:,} rows."
        )
    adata.obsm[key] = places
    ends = np.cumsum(widths)
    for j, (start, stop) in enumerate(zip(ends - np.array(widths), ends, strict=True)):
        adata.obsm[f"{key}_factor{j}"] = places[:, start:stop]
    # Arrays of texts, which files of AnnData can hold.
    adata.uns["geodis"] = {
        "names": np.array(est.names_, dtype=str),
        "factor_dims": np.asarray(est.factor_dims_),
        "columns": np.array(est.get_feature_names_out(), dtype=str),
        "uncertain": bool(est.uncertain_),
        "doubts": np.array(est.doubts_, dtype=str),
    }
    return adata
