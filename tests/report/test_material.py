from typing import Any

import numpy as np
import pandas as pd
import pytest

from geodis import Factors
from geodis.base.check import InputError
from geodis.report import material


def gather_material(*given, **options) -> Any:
    return material.gather_material(*given, **options)


def test_rows_that_are_not_finite_or_have_no_factor_are_left_out():
    latents = np.arange(8.0).reshape(4, 2)
    latents[1, 0] = np.inf
    factors = Factors(np.array([[0.0], [1], [np.nan], [1]]), ("x",))
    gathered = gather_material(latents, factors)
    assert gathered.rows.tolist() == [0, 3]
    assert gathered.factors.values.ravel().tolist() == [0, 1]
    assert "2 of 4 rows have" in gathered.notes[0]


def test_a_frame_keeps_its_names_and_labels_and_loses_rows_with_gaps():
    frame = pd.DataFrame({"shape": ["box", None, "dot"], "x": [1.0, 2.0, 3.0]})
    gathered = gather_material(np.eye(3), frame)
    assert gathered.rows.tolist() == [0, 2]
    assert gathered.factors.names == ("shape", "x")
    assert [
        gathered.factors.categories["shape"][int(c)] for c in gathered.factors.values[:, 0]
    ] == ["box", "dot"]


def test_factors_without_names_are_numbered():
    assert gather_material(np.eye(3), np.arange(3)).factors.names == ("factor 0",)
    assert gather_material(np.eye(3), np.arange(3.0)[:, None]).factors.names == ("factor 0",)
    labels = gather_material(np.eye(3), np.array(["a", "b", "a"])).factors
    assert labels.names == ("factor 0",) and labels.categories["factor 0"] == ("a", "b")


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_of_many_rows_some_are_drawn_and_it_is_said(seed):
    latents = np.arange(200.0)[:, None]
    gathered = gather_material(latents, np.arange(200) % 3, max_points=50, random_state=seed)
    assert len(gathered.rows) == 50 == len(gathered.latents) == len(gathered.factors)
    np.testing.assert_array_equal(gathered.latents[:, 0], gathered.rows)
    np.testing.assert_array_equal(gathered.factors.values[:, 0], gathered.rows % 3)
    assert gathered.notes == ("50 of 200 rows were drawn at random.",)


def test_continuous_factors_are_binned_for_classes_only():
    rng = np.random.default_rng(0)
    gathered = gather_material(np.eye(30), rng.normal(size=30), bins=4)
    assert len(np.unique(gathered.factors.values)) == 30
    assert len(np.unique(gathered.classes.values)) <= 4
    assert "4 bins" in gathered.notes[0] and "factor 0" in gathered.notes[0]


def test_images_follow_the_rows_that_were_drawn():
    images = np.arange(100, dtype=np.uint8).reshape(100, 1, 1)
    gathered = gather_material(np.eye(100), images=images, max_points=10)
    np.testing.assert_array_equal(gathered.images_of(np.arange(10)).ravel(), gathered.rows)
    np.testing.assert_array_equal(
        gathered.images_of(np.array([3, 3, 0])).ravel(), gathered.rows[[3, 3, 0]]
    )


def test_thinning_keeps_rows_together():
    gathered = gather_material(np.arange(50.0)[:, None], np.arange(50) % 5).thinned(20, 0)
    np.testing.assert_array_equal(gathered.latents[:, 0], gathered.rows)
    np.testing.assert_array_equal(gathered.factors.values[:, 0], gathered.rows % 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(3),), r"shape \(n, z\).*got shape \(3,\)"),
        ((np.eye(3), np.zeros(2)), "as many rows; got 3 and 2"),
        ((np.eye(3), None, np.zeros((4, 2, 2))), "images must have as many rows; got 3 and 4"),
        ((np.eye(3), None, np.zeros((3, 2, 2), int)), "uint8, or floats"),
        (
            (np.eye(3), None, np.full((3, 2, 2), 16.0)),
            r"got floats from 16 to 16: divide them by 16\.$",
        ),
        ((np.eye(3), None, np.full((3, 2, 2), -1.0)), r"got floats from -1 to -1\.$"),
        ((np.eye(3), None, np.full((3, 2, 2), np.nan)), "got floats from nan to nan"),
        ((np.eye(3), None, np.zeros((3, 2))), r"\(n, h, w\)"),
        ((np.full((3, 2), np.nan),), "rows that are finite"),
        ((np.eye(3), 5), r"factors must have shape \(n, f\), one row per point; got shape \(\)"),
    ],
)
def test_bad_input_is_said_in_one_sentence(arguments, message):
    with pytest.raises(InputError, match=message):
        gather_material(*arguments)
