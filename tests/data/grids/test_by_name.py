"""Data sets by their names."""

import pytest

from geodis.base.check import InputError
from geodis.data.grids.published import BUILT_IN, PUBLISHED, built_in_grid, published_grid


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_set_is_made_by_its_name(name):
    assert type(built_in_grid(name)).__name__.lower() == name.replace("-", "")


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_set_is_opened_by_its_name(name, tmp_path):
    with pytest.raises(InputError, match="none"):
        published_grid(name, tmp_path / "none")


def test_settings_are_those_of_the_set():
    assert built_in_grid("xysquares", spacing=4, n_squares=1).image_shape == (64, 64, 3)
    with pytest.raises(InputError, match=r"name must be one of 'xysquares', .*; got 'dsprites'"):
        built_in_grid("dsprites")
