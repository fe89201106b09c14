"""Coordinates on the maps of a fit -> an AnnData object."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodis.base.check import InputError
from geodis.manifold.fitted import Fit
from geodis.manifold.maps.mapped_factors import feature_names, maps_of, topologies_of


def write_places(adata: Any, fit: Fit, places: np.ndarray, key: str) -> Any:
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
    stops = np.cumsum([own.n_coordinates for own in maps_of(fit)])[:-1]
    for j, own in enumerate(np.split(places, stops, axis=1)):
        adata.obsm[f"{key}_factor{j}"] = own
    # Arrays of texts, which files of AnnData can hold.
    adata.uns["geodis"] = {
        "names": np.array([topology.name for topology in topologies_of(fit)], dtype=str),
        "factor_dims": np.asarray(fit.factor_dims),
        "columns": np.array(feature_names(fit), dtype=str),
        "uncertain": fit.uncertain,
        "doubts": np.array(fit.all_doubts, dtype=str),
    }
    return adata
