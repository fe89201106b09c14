"""One door for factors: the same table through every door is the same factors."""

import datetime
import importlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import geodis as gd
from geodis.base.check import InputError
from geodis.data.factors import Factors, as_factors
from geodis.report.material import gather_material

SHAPES = ["dot", "box", "dot", "line"]
COUNTS = [3, 1, 2, 1]
SIZES = ["low", "high", "low", "medium"]
LEVELS = ["low", "medium", "high"]


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "shape": SHAPES,
            "count": COUNTS,
            "size": pd.Categorical(SIZES, categories=LEVELS, ordered=True),
        }
    )


def same(factors: Factors, expected: Factors) -> None:
    np.testing.assert_array_equal(factors.values, expected.values)
    assert factors.values.dtype == expected.values.dtype
    assert factors.names == expected.names and factors.kinds == expected.kinds
    assert dict(factors.categories) == dict(expected.categories)


# ------------------------------------------------------------------------------------ the doors


EXPECTED = Factors(
    np.array([[1, 3, 0], [0, 1, 2], [1, 2, 0], [2, 1, 1]]),
    ("shape", "count", "size"),
    {"shape": ("box", "dot", "line"), "size": ("low", "medium", "high")},
    ordered=("size",),
)


def in_h5ad(path):
    h5py = pytest.importorskip("h5py", reason="h5ad files are HDF5")
    with h5py.File(path / "cells.h5ad", "w") as file:
        file["X"] = np.eye(4)
        obs = file.create_group("obs")
        obs.attrs["column-order"] = ["shape", "count", "size"]
        obs["shape"], obs["count"] = SHAPES, COUNTS
        size = obs.create_group("size")
        size.attrs["encoding-type"], size.attrs["ordered"] = "categorical", True
        size["codes"], size["categories"] = [0, 2, 0, 1], LEVELS
    return gd.load_factors(path / "cells.h5ad")


def in_parquet(path):
    pytest.importorskip("pyarrow", reason="Parquet files are read by pyarrow")
    frame().to_parquet(path / "factors.parquet")
    return gd.load_factors(path / "factors.parquet")


def in_pyarrow(path):
    pyarrow = pytest.importorskip("pyarrow", reason="its tables are factors too")
    return pyarrow.Table.from_pandas(frame())


def in_polars(path):
    polars = pytest.importorskip("polars", reason="polars is no dependency")
    size = polars.Series("size", SIZES, dtype=polars.Enum(LEVELS))
    return polars.DataFrame({"shape": SHAPES, "count": COUNTS, "size": size})


class Series:
    """What a series of polars answers to, as far as it is asked."""

    def __init__(self, name, values, dtype):
        self.name, self._values, self.dtype = name, values, dtype

    def __len__(self):
        return len(self._values)

    def null_count(self):
        return self._values.count(None)

    def to_list(self):
        return list(self._values)

    def to_numpy(self):
        return np.array(self._values)


class EnumOf:
    def __init__(self, categories):
        self.categories = categories

    def __str__(self):
        return f"Enum(categories={self.categories})"


def like_polars(path):
    columns = {
        "shape": Series("shape", SHAPES, "String"),
        "count": Series("count", COUNTS, "Int64"),
        "size": Series("size", SIZES, EnumOf(LEVELS)),
    }
    return SimpleNamespace(columns=list(columns), get_column=columns.__getitem__)


DOORS = {
    "pandas frame": lambda path: frame(),
    "dict of columns": lambda path: dict(frame().items()),
    "dict of arrays": lambda path: {
        "shape": np.array(SHAPES),
        "count": np.array(COUNTS),
        "size": frame()["size"].array,
    },
    "AnnData": lambda path: SimpleNamespace(obs=frame(), obs_names=frame().index),
    "Factors": lambda path: EXPECTED,
    "h5ad file": in_h5ad,
    "Parquet file": in_parquet,
    "pyarrow table": in_pyarrow,
    "polars frame": in_polars,
    "like a polars frame": like_polars,
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_gives_the_same_factors(door, tmp_path):
    same(as_factors(DOORS[door](tmp_path)), EXPECTED)


ROWS = [("dot", 3), ("box", 1), ("dot", 2), ("line", 1)]


@pytest.mark.parametrize(
    "factors",
    [
        ROWS,
        [list(row) for row in ROWS],
        [{"shape": shape, "count": count} for shape, count in ROWS],
        np.array(ROWS, dtype=object),
        np.array(ROWS, dtype=[("shape", "U4"), ("count", "i8")]),
        np.array(ROWS, dtype=[("shape", "S4"), ("count", "i8")]),
        np.rec.array(ROWS, dtype=[("shape", "U4"), ("count", "i8")]),
        np.array(ROWS, dtype=[("shape", "U4"), ("count", "i8")])[:, None],
        np.ma.array(ROWS, dtype=[("shape", "U4"), ("count", "i8")]),
        frame()[["shape", "count"]].astype({"shape": "string", "count": "Int64"}),
        frame()[["shape", "count"]].astype({"shape": "category"}),
    ],
)
def test_rows_and_records_keep_numbers_beside_text(factors):
    known = as_factors(factors, names=["shape", "count"])
    same(
        known,
        Factors(EXPECTED.values[:, :2], ("shape", "count"), {"shape": known.categories["shape"]}),
    )
    assert known.categories["shape"] == ("box", "dot", "line")


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, np.float64])
def test_numbers_keep_their_dtype(dtype):
    array = np.arange(6, dtype=dtype).reshape(3, 2)
    torch = pytest.importorskip("torch")
    for given_ in (array, torch.from_numpy(array), np.ma.array(array)):
        known = as_factors(given_)
        assert known.values.dtype == dtype and known.names == ("factor 0", "factor 1")
        np.testing.assert_array_equal(known.values, array)


def test_one_column_is_one_factor():
    assert as_factors([3, 1, 3]).values.tolist() == [[3], [1], [3]]
    assert as_factors(pd.Series([1, 2], name="x")).names == ("x",)
    assert as_factors(pd.Series([1, 2])).names == ("factor 0",)
    assert as_factors(pd.Categorical(["b", "a"], categories=["b", "a"])).values.tolist() == [
        [0],
        [1],
    ]
    assert as_factors(np.array([True, False])).values.tolist() == [[1], [0]]


@pytest.mark.parametrize("text", [["1.5", "3"], ["01", "1"], [str(2**60), str(2**60 + 1)]])
def test_text_that_looks_like_numbers_is_text(text):
    for column in (
        text,
        np.array(text),
        np.array(text, dtype=object),
        np.array([*text, None], dtype=object),
        np.char.encode(text).astype(object),
        pd.Series(text, dtype=object),
        pd.Series(text, dtype="string"),
    ):
        known = as_factors(column)
        assert known.kinds == ("labels",) and [*known.categories.values()] == [tuple(text)]
        assert known.values[:2].tolist() == [[0], [1]]


def test_objects_of_numbers_are_numbers():
    known = as_factors(np.array([1.5, 3, True, None], dtype=object))
    np.testing.assert_array_equal(known.values, [[1.5], [3], [1], [np.nan]])
    assert known.kinds == ("numbers",)


# ------------------------------------------------------------------------- order and identity


def test_ordered_categories_keep_their_order_in_distances(tmp_path):
    rng = np.random.default_rng(0)
    size, x = rng.integers(3, size=300), rng.integers(4, size=300)
    latents = np.column_stack([size, x]) + 0.1 * rng.normal(size=(300, 2))
    named = pd.DataFrame(
        {"size": pd.Categorical(np.array(LEVELS)[size], categories=LEVELS, ordered=True), "x": x}
    )
    named.to_parquet(tmp_path / "factors.parquet")
    doors = (named, gd.load_factors(tmp_path / "factors.parquet"), dict(named.items()))
    values = [
        gd.score_latents(latents, door, ["distance_correlation"], verbose=False) for door in doors
    ]
    alphabet = gd.score_latents(
        latents, named.astype({"size": str}), ["distance_correlation"], verbose=False
    )
    assert len({table["distance_correlation"] for table in values}) == 1
    assert np.isfinite(values[0].scores["distance_correlation"].per_factor).all()
    # Without their order no size is nearer to one than to another.
    along = alphabet.scores["distance_correlation"].per_factor
    assert np.isnan(along[0]) and along[1] > 0.9


def test_an_order_that_a_file_does_not_hold_is_not_made_up(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet files are read by pyarrow")
    level = pd.Categorical([3, 1, 2], categories=[3, 1, 2], ordered=True)
    pd.DataFrame({"level": level}).to_parquet(tmp_path / "factors.parquet")
    assert as_factors(level).values.tolist() == [[0], [1], [2]]
    with pytest.warns(UserWarning, match="level must have text categories to keep their order"):
        known = gd.load_factors(tmp_path / "factors.parquet")
    assert known.kinds == ("labels",) and known.categories == {"level": ("1", "2", "3")}
    with pytest.warns(UserWarning, match="level must have text categories to keep their order"):
        again = as_factors(parquet_table(tmp_path / "factors.parquet"))
    same(again, known)
    pd.DataFrame({"level": level.as_unordered()}).to_parquet(tmp_path / "plain.parquet")
    assert gd.load_factors(tmp_path / "plain.parquet").kinds == ("labels",)


def parquet_table(path):
    from pyarrow import parquet

    return parquet.ParquetFile(path).read()


def test_tables_of_pyarrow_are_read_as_files_are(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="its tables are factors too")
    mixed = pd.DataFrame(
        {
            "id": pd.array([2**60 + 1, None, 2**60], dtype="Int64"),
            "size": pd.Categorical(["b", "a", "b"], categories=["b", "a"], ordered=True),
            "day": pd.to_datetime(["2021-03-01", "2020-12-31", "2021-03-01"]),
        }
    )
    mixed.to_parquet(tmp_path / "factors.parquet")
    for table in (pyarrow.Table.from_pandas(mixed), parquet_table(tmp_path / "factors.parquet")):
        known = as_factors(table)
        assert known.kinds == ("ordered", "ordered", "ordered")
        same(known, gd.load_factors(tmp_path / "factors.parquet"))
        assert known.categories == as_factors(mixed).categories


def test_large_integers_keep_their_identity():
    ids = [2**60 + 1, 2**60, 2**60 + 1, -(2**60)]
    expected = [[2], [1], [2], [0]]
    digits = (str(-(2**60)), str(2**60), str(2**60 + 1))
    for given_ in (
        ids,
        np.array(ids),
        np.array(ids, dtype=object),
        pd.Series(ids, dtype="Int64"),
        np.ma.array(ids),
        [[number] for number in ids],
        {"factor 0": ids},
    ):
        known = as_factors(given_)
        assert known.values.tolist() == expected and known.kinds == ("ordered",)
        assert known.categories["factor 0"] == digits
    assert as_factors([2**53, 0]).kinds == ("numbers",)
    assert as_factors(np.array([2**64 - 1, 2**64 - 2], np.uint64)).values.tolist() == [[1], [0]]
    mixed = as_factors([[2**60, 0.5], [2**60 + 1, 1.5]])
    assert mixed.values.tolist() == [[0, 0.5], [1, 1.5]] and mixed.kinds == ("ordered", "numbers")
    with_gap = as_factors([2**60, None, 2**60 + 1])
    np.testing.assert_array_equal(with_gap.values, [[0], [np.nan], [1]])
    assert gd.FactorGrid.from_arrays(None, [2**60, 2**60 + 1]).sizes == (2,)


def test_large_integers_with_gaps_keep_their_identity_in_files(tmp_path):
    ids = pd.DataFrame({"id": pd.array([2**60 + 1, None, 2**60], dtype="Int64")})
    ids.to_parquet(tmp_path / "ids.parquet")
    h5py = pytest.importorskip("h5py", reason="h5ad files are HDF5")
    with h5py.File(tmp_path / "ids.h5ad", "w") as file:
        obs = file.create_group("obs")
        obs.attrs["column-order"] = ["id"]
        group = obs.create_group("id")
        group.attrs["encoding-type"] = "nullable-integer"
        group["values"], group["mask"] = [2**60 + 1, 0, 2**60], [False, True, False]
    for door in (ids, *map(gd.load_factors, (tmp_path / "ids.parquet", tmp_path / "ids.h5ad"))):
        known = as_factors(door)
        np.testing.assert_array_equal(known.values, [[1], [np.nan], [0]])
        assert known.kinds == ("ordered",)


def test_times_are_ordered_labels():
    days = ["2021-03-01", "2020-12-31", "2021-03-01"]
    for given_ in (
        np.array(days, dtype="datetime64[D]"),
        pd.Series(pd.to_datetime(days)),
        [datetime.date.fromisoformat(day) for day in days],
        pd.Series(pd.to_datetime(days).tz_localize("UTC")),
    ):
        known = as_factors(given_)
        assert known.kinds == ("ordered",) and known.values.tolist() == [[1], [0], [1]]
    assert as_factors(np.array([10, 9], "timedelta64[s]")).values.tolist() == [[1], [0]]


# ------------------------------------------------------------------------------ what is missing


def test_what_holds_nothing_is_all_missing():
    for nothing in ([None, None], np.array([None, np.nan], dtype=object), [np.nan, np.nan]):
        column = as_factors(nothing)
        assert column.kinds == ("numbers",) and not column.complete.any()
        assert "all missing" in str(column)


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_values_are_nan(nothing):
    labels = as_factors(["b", nothing, "a"])
    np.testing.assert_array_equal(labels.values, [[1], [np.nan], [0]])
    assert labels.complete.tolist() == [True, False, True]
    numbers = as_factors(np.array([1, nothing, 2], dtype=object))
    np.testing.assert_array_equal(numbers.values, [[1], [np.nan], [2]])


@pytest.mark.parametrize(
    "values", [[3, 1, 2], [3.5, 1.5, 2.5], ["c", "a", "b"], [True, False, True]]
)
def test_masked_values_are_missing(values):
    masked = np.ma.array(values, mask=[False, True, False])
    column = as_factors(masked)
    assert column.complete.tolist() == [True, False, True]
    present = as_factors(np.array(values)[[0, 2]])
    assert column.take(column.complete).values.tolist() == present.values.tolist()
    assert column.categories == present.categories
    with pytest.raises(InputError, match=r"factor 0 must .* got (NaN in 1|1 missing)"):
        gd.scores.mig(np.eye(3), masked)
    with pytest.raises(InputError, match=r"factor 0 must .* got (NaN in 1|1 missing)"):
        gd.FactorGrid.from_arrays(None, masked)


def test_masked_rows_are_left_out_of_a_report():
    rng = np.random.default_rng(0)
    values = np.ma.array(rng.integers(3, size=(20, 2)), mask=np.zeros((20, 2), bool))
    values[4, 1] = np.ma.masked
    material = gather_material(rng.normal(size=(20, 3)), values)
    assert len(material.rows) == 19 and 4 not in material.rows
    with pytest.raises(InputError, match=r"factor 1 must be finite; got NaN in 1"):
        gd.scores.mig(rng.normal(size=(20, 3)), values)


# -------------------------------------------------------------------------------------- scores


def test_three_fields_are_three_factors_for_scores():
    rng = np.random.default_rng(0)
    values = rng.integers(4, size=(2000, 3))
    code = values + 0.01 * rng.normal(size=(2000, 3))
    records = np.array([*map(tuple, values)], dtype=[("a", "i8"), ("b", "i8"), ("c", "i8")])
    mig = gd.scores.mig(code, records)
    assert mig.factor_names == ("a", "b", "c")
    assert float(mig) == float(gd.scores.mig(code, values)) > 0.9


def test_labels_keep_their_names_to_the_score_table(monkeypatch):
    module = importlib.import_module("geodis.scores.score_latents")

    scored, run_jobs = [], module.run_jobs

    def keep_jobs(jobs, *rest):
        scored.extend(jobs)
        return run_jobs(jobs, *rest)

    monkeypatch.setattr(module, "run_jobs", keep_jobs)
    rng = np.random.default_rng(0)
    words = pd.DataFrame({"shape": np.array(["dot", "box"])[rng.integers(2, size=50)]})
    table = gd.score_latents(rng.normal(size=(50, 2)), words, ["mig"], verbose=False)
    assert table.factor_names == ("shape",)
    assert scored[0].factors.categories == {"shape": ("box", "dot")}
    words.loc[3, "shape"] = None
    with pytest.raises(InputError, match="'shape' must have a value in every row; got 1 missing"):
        gd.score_latents(rng.normal(size=(50, 2)), words, verbose=False)


# --------------------------------------------------------------------------------------- kinds


def test_kinds_of_factors():
    known = as_factors(
        {**dict(frame().items()), "angle": [0.0, 90.0, 180.0, 270.0]}, periods={"angle": 360}
    )
    assert known.kinds == ("labels", "numbers", "ordered", "cyclic")
    assert known.kind_of("angle") == "cyclic"
    assert str(known).splitlines()[1:] == [
        "name   distinct  range",
        "shape         3  box, dot, line",
        "count         3  1 to 3",
        "size          3  low < medium < high",
        "angle         4  0 to 270, period 360",
    ]
    taken = known.take([0, 2])
    assert taken.kinds == known.kinds and len(taken) == 2
    renamed = as_factors(known, names=["a", "b", "c", "d"])
    assert renamed.kinds == known.kinds and renamed.periods == {"d": 360}
    with pytest.raises(InputError, match=r"name must be one of shape, .*; got 'hue'"):
        known.kind_of("hue")


def test_kinds_of_grids():
    assert gd.FactorGrid((2, 3)).kinds == ("numbers", "numbers")
    assert gd.Sprites().kinds == ("labels", "numbers", "cyclic", "numbers", "numbers")
    assert gd.data.NoiseMasked(gd.Sprites()).kinds == gd.Sprites().kinds
    assert gd.XYObjectShades().kinds[-1] == "cyclic" and gd.XYObject().kinds[-1] == "labels"
    observed = gd.FactorGrid.from_arrays(None, frame())
    assert observed.kinds == ("labels", "numbers", "ordered")
    assert observed.values[2].tolist() == LEVELS and observed.values[0].tolist()[0] == "box"
    with pytest.raises(InputError, match=r"kinds must be 1 of labels, .*; got \('odd',\)"):
        gd.FactorGrid((2,), kinds=["odd"])  # type: ignore[list-item]


def test_grids_are_factors():
    numbers = as_factors(gd.FactorGrid((2, 3)))
    np.testing.assert_array_equal(numbers.values, gd.FactorGrid((2, 3)).factors(range(6)))
    assert numbers.kinds == ("numbers", "numbers") and numbers.names == ("factor 0", "factor 1")
    for sprites in (gd.Sprites(), gd.data.NoiseMasked(gd.Sprites())):
        known = sprites.known_factors([0, len(sprites) - 1])
        assert known.kinds == sprites.kinds and known.periods == {"orientation": 40.0}
        assert known.categories == {"shape": ("square", "ellipse", "heart")}
        np.testing.assert_array_equal(known.values, sprites.factors([0, len(sprites) - 1]))
    observed = as_factors(gd.FactorGrid.from_arrays(None, frame()))
    assert observed.kinds == EXPECTED.kinds and observed.categories == EXPECTED.categories
    coded = gd.FactorGrid.from_arrays(None, as_factors(["b", "a"]), sizes=[2])
    assert as_factors(coded).categories == {"factor 0": ("a", "b")}


@pytest.mark.parametrize(
    ("angles", "kind"),
    [
        ([0, 90, 180, 270], "cyclic"),
        ([45.0, 135.0, 225.0, 315.0], "cyclic"),
        (np.arange(24) * 2 * np.pi / 24, "cyclic"),
        ([0, 90, 180], "numbers"),
        ([0, 90, 180, 270, 350], "numbers"),
        ([0, 10, 180, 190], "numbers"),
        ([90], "cyclic"),
    ],
)
def test_a_grid_is_cyclic_where_its_values_go_round(angles, kind):
    period = 360 if max(angles) > 7 else 2 * np.pi
    values = {"angle": np.repeat(angles, 2), "side": np.tile([0, 1], len(angles))}
    grid = gd.FactorGrid.from_arrays(None, as_factors(values, periods={"angle": period}))
    assert grid.kinds == (kind, "numbers")
    expected = {"angle": len(angles)} if kind == "cyclic" else {}
    assert grid.known_factors([0]).periods == expected


def test_a_grid_whose_last_angle_equals_the_first_has_a_shorter_period():
    angles = np.linspace(0, 2 * np.pi, 40)  # the orientations of dSprites
    known = as_factors({"angle": angles}, periods={"angle": 2 * np.pi})
    grid = gd.FactorGrid.from_arrays(None, known)
    assert grid.kinds == ("cyclic",) and grid.periods == (39,) and not grid.note
    assert grid.known_factors([0]).periods == {"angle": 39.0}


def test_a_grid_of_given_sizes_is_cyclic_where_its_values_go_round_once():
    turns = as_factors({"turn": [0, 1, 3]}, periods={"turn": 4})
    grids = [gd.FactorGrid.from_arrays(None, turns, sizes=[size]) for size in (4, 5, 6)]
    assert [grid.kinds for grid in grids] == [("cyclic",), ("cyclic",), ("numbers",)]
    assert [grid.periods for grid in grids] == [(4,), (4,), (6,)]


def test_scores_see_the_labels_of_a_grid():
    rng = np.random.default_rng(0)
    words = pd.DataFrame({"shape": np.repeat(["dot", "box"], 20), "x": np.tile(np.arange(5), 8)})
    grid, code = gd.FactorGrid.from_arrays(None, words), rng.normal(size=(40, 2))
    of_grid = gd.score_latents(code, grid, ["predictive", "mig"], chance=False, verbose=False)
    of_frame = gd.score_latents(code, words, ["predictive", "mig"], chance=False, verbose=False)
    assert of_grid.skipped == of_frame.skipped
    notes = [table.scores["informativeness_r2"].note for table in (of_grid, of_frame)]
    assert notes == ["left out, labels: factor 'shape'"] * 2


def test_labels_with_sizes_are_refused_unless_their_codes_are_known():
    with pytest.raises(
        InputError, match="whole numbers if sizes are given; got labels in factor 0"
    ):
        gd.FactorGrid.from_arrays(None, ["b", "a"], sizes=[3])
    assert gd.FactorGrid.from_arrays(None, as_factors(["b", "a"]), sizes=[3]).sizes == (3,)


# --------------------------------------------------------------------------------- bad factors


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ("f.csv", r"values, not a file name; got 'f\.csv': use load_factors"),
        (Path("f.csv"), r"values, not a file name; got 'f\.csv': use load_factors"),
        (5, r"factors must have shape \(n, f\), one row per point; got shape \(\)"),
        (np.zeros((2, 2, 2)), r"got shape \(2, 2, 2\)"),
        (np.zeros((0, 2)), "at least one row and one factor; got none"),
        ({}, "at least one row and one factor; got none"),
        ({"x": [1, 2], "y": [1]}, "equally many values; got from 1 to 2"),
        ({"x": np.zeros((2, 2))}, r"factor 'x' must have shape \(n,\), .*; got shape \(2, 2\)"),
        ([1j, 2.0], "factor 0 must hold real numbers or labels; got complex numbers"),
        (np.array([1j, None], dtype=object), "got complex numbers"),
        (np.zeros(2, dtype="V3"), "got dtype"),
        ([[1, 2], [3]], "factors must be a rectangular array"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "factors must have different names; got a, a"),
    ],
)
def test_factors_that_cannot_be_read(factors, message):
    with pytest.raises(InputError, match=message):
        as_factors(factors)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((3, 2)), ("x",)), r"f names; got shape \(3, 2\) and 1 names"),
        ((np.zeros((3, 2)), ("x", "x")), "different names; got x, x"),
        ((np.array([["a"]]), ("x",)), "values that are numbers; got dtype <U1"),
        ((np.array([[2]]), ("x",), {"x": ("a", "b")}), "codes from 0 to 1; got 2 to 2"),
        ((np.array([[0.5]]), ("x",), {"x": ("a", "b")}), "codes from 0 to 1; got 0.5 to 0.5"),
        ((np.array([[0]]), ("x",), {"y": ("a",)}), "categories must name factors among x; got y"),
        ((np.array([[0]]), ("x",), {}, ("x",)), "ordered must name factors made of labels; got x"),
        ((np.array([[0]]), ("x",), {}, (), {"x": 0}), "period of x must be above 0; got 0"),
        ((np.array([[0]]), ("x",), {}, (), {"y": 1}), "periods must name factors among x; got y"),
        (
            (np.array([[0]]), ("x",), {"x": ("a",)}, (), {"x": 1}),
            "periods must name factors of numbers; got x, of labels",
        ),
    ],
)
def test_factors_that_contradict_themselves(arguments, message):
    with pytest.raises(InputError, match=message):
        Factors(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"periods": [3]}, r"periods must be a mapping of names to numbers; got \[3\]"),
        ({"periods": 3}, "periods must be a mapping of names to numbers; got 3"),
        ({"names": 5}, "names must be a sequence of names, one per factor; got 5"),
        ({"names": "ab"}, "names must be a sequence of names, one per factor; got 'ab'"),
    ],
)
def test_names_and_periods_of_another_type(options, message):
    with pytest.raises(InputError, match=message):
        as_factors(np.zeros((3, 2)), **options)


def test_names_tell_double_columns_apart():
    double = pd.DataFrame([[1, 2]], columns=["a", "a"])
    assert as_factors(double, names=["a", "b"]).names == ("a", "b")


def test_names_must_fit():
    for names in (["a"], ["a", "a"], ["a", "b", "c"]):
        with pytest.raises(
            InputError, match="names must be 2 different names, one per factor; got"
        ):
            as_factors(np.zeros((3, 2)), names=names)


# ------------------------------------------------------------------------------------ theorems


CELLS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True, allow_infinity=False),
    st.text(max_size=3),
    st.booleans(),
    st.none(),
)
COLUMNS = st.one_of(
    st.lists(st.integers(), min_size=1, max_size=8),
    st.lists(st.text(max_size=2), min_size=1, max_size=8),
    st.lists(CELLS, min_size=1, max_size=8),
)


@given(column=COLUMNS, data=st.data())
def test_order_of_rows_does_not_matter(column, data):
    """as_factors(x[p]) = as_factors(x)[p] for every permutation p of the rows."""
    order = data.draw(st.permutations(range(len(column))))
    known = as_factors(column)
    permuted = as_factors([column[i] for i in order])
    np.testing.assert_array_equal(permuted.values, known.values[order])
    assert permuted.categories == known.categories and permuted.kinds == known.kinds
