"""Places of a fit beside the points of an AnnData object."""

from types import SimpleNamespace

import numpy as np
import pytest

import geodis as gd
from geodis.base.check import InputError


def annotated(n):
    """What there is of an AnnData object here."""
    return SimpleNamespace(obsm={}, uns={}, obs_names=[f"cell {i}" for i in range(n)])


@pytest.fixture(scope="module")
def est():
    points = gd.product_manifold("S^2 x S^1", 700, random_state=0).points
    return gd.GeoManCER(verbose=0, random_state=0).fit(points), points


def test_every_factor_stands_alone_and_all_side_by_side(est):
    fitted, points = est
    adata = annotated(700)
    assert fitted.write_obsm(adata) is adata
    np.testing.assert_array_equal(adata.obsm["X_geodis_factor0"], fitted.coordinates(0))
    np.testing.assert_allclose(adata.obsm["X_geodis"], fitted.transform(points))
    told = adata.uns["geodis"]
    assert told["names"].tolist() == ["sphere", "circle"] and told["doubts"].dtype.kind == "U"
    assert told["columns"].tolist() == fitted.get_feature_names_out().tolist()


def test_other_rows_are_transformed_and_wrong_ones_refused(est):
    fitted, points = est
    some = annotated(5)
    fitted.write_obsm(some, points[:5], key="X_own")
    np.testing.assert_array_equal(some.obsm["X_own"], fitted.transform(points[:5]))
    with pytest.raises(InputError, match="the 700 rows that were fitted, or X must be given; got"):
        fitted.write_obsm(annotated(5))
    with pytest.raises(InputError, match="must be an AnnData object; got dict"):
        fitted.write_obsm({})
