"""Files of atlases with every array and every entry damaged: refused, or the same answers."""

import copy
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.base.safetensors_files import read_arrays, write_arrays
from geodis.manifold.atlas.fitted_atlas import Atlas

# Damages that leave another atlas which might have been meant: every whole number is a form, and
# nothing else in the file says how many coordinates a curved factor has. Where a piece of the
# points has no map, coordinates are NaN.
MIGHT_BE_MEANT = {
    *(("NaN", name) for name in ("flat", "polynomials", "forms")),
    *(("infinity", "forms"), ("narrower", "polynomials"), ("wider", "polynomials")),
    ("transposed", "turn"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Arrays, note, new points, and what the atlas says of these."""
    sample = gd.product_manifold("S^2 x S^1", 400, rotate=True, pad=2, random_state=0)
    path = tmp_path_factory.mktemp("atlas") / "atlas.safetensors"
    gd.GeoManCER(verbose=0).fit(sample.points[:350]).atlas().save(path)
    new = sample.points[350:]
    return *read_arrays(path), new, Atlas.load(path).at(new)


ARRAYS = [
    *("basis", "origin", "places", "piece", "reach", "lost"),
    *(
        f"pieces/0/charts/{c}/{name}"
        for c in range(2)
        for name in ("basis", "places", "frames", "bends", "radius", "mixing")
    ),
    "pieces/0/sheets/0/polynomials",
    "pieces/0/sheets/1/flat",
    *(
        f"pieces/0/sheets/1/closed/{name}"
        for name in ("turn", "periods", "open_directions", "forms", "radii")
    ),
]
NEW_TYPE = {"float64": "float32", "float32": "float64", "int64": "int32"}


def filled(array, value):
    """The array with the first and the last entry changed; larger if it has none."""
    new = array.copy() if array.size else np.zeros((1, *array.shape[1:]), array.dtype)
    new.reshape(-1)[[0, -1]] = value
    return new


DAMAGES = {
    "cut to two": lambda array: array[:2],
    "cut to none": lambda array: array[:0],
    "one less": lambda array: array[:-1],
    "twice as long": lambda array: np.concatenate([array, array]),
    "narrower": lambda array: array[..., :-1],
    "wider": lambda array: np.concatenate([array, array], axis=-1),
    "wider in the middle": lambda array: np.concatenate(
        [array, array], axis=min(1, array.ndim - 1)
    ),
    "one more axis": lambda array: array[None],
    "one more axis, last": lambda array: array[..., None],
    "flat": lambda array: array.reshape(-1),
    "transposed": lambda array: array.T,
    "another type": lambda array: array.astype(NEW_TYPE[str(array.dtype)]),
    "bytes": lambda array: array.astype(np.uint8),
    "missing": lambda array: None,
    "NaN": lambda array: filled(array, np.nan if array.dtype.kind == "f" else -1),
    "infinity": lambda array: filled(array, np.inf if array.dtype.kind == "f" else 2**31),
}


def outcome(path, new, wanted):
    """Refused in one sentence, or the same; anything else is a failure."""
    try:
        found = Atlas.load(path).at(new)
    except InputError as error:
        said = str(error)
    else:
        said = ""
    if said:
        assert "\n" not in said and len(said) < 600 and str(path) in said
        return "refused"
    for name in ("axes", "coordinates", "distances", "outside"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    return "the same"


@pytest.mark.parametrize("name", ARRAYS)
def test_a_damaged_array_is_refused_or_changes_nothing(whole, tmp_path, name):
    arrays, note, new, wanted = whole
    assert {*ARRAYS} == {*arrays}
    path = tmp_path / "damaged.safetensors"
    refused = 0
    for damage, change in DAMAGES.items():
        if (damage, name.split("/")[-1]) in MIGHT_BE_MEANT:
            continue
        changed = change(arrays[name])
        held = {key: array for key, array in arrays.items() if key != name}
        if changed is not None:
            held[name] = np.ascontiguousarray(changed).reshape(changed.shape)
        write_arrays(path, held, note)
        refused += outcome(path, new, wanted) == "refused"
    assert refused >= 4, f"only {refused} damages of {name} were refused"


def test_arrays_that_are_all_short_are_refused(whole, tmp_path):
    """Compiled loops would read beyond them."""
    arrays, note, new, wanted = whole
    ends = ("frames", "bends", "radius", "polynomials")
    for ending in (ends, ends[:2], ("frames", "bends", "radius", "flat", "polynomials")):
        short = {k: array[:2] if k.endswith(ending) else array for k, array in arrays.items()}
        write_arrays(tmp_path / "short.safetensors", short, note)
        assert outcome(tmp_path / "short.safetensors", new, wanted) == "refused"


def entries(note, above=()):
    """The places of all entries of a note, however deep."""
    for key, value in note.items() if isinstance(note, dict) else enumerate(note):
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from entries(value, (*above, key))


MISSING = object()
OTHERS: tuple[Any, ...] = (
    *(MISSING, None, True, "text", "", [], {}, [None], [[0, 1]], [0, 1, 2], [1, 0], [0, 2**70]),
    *(-1, 0, 1, 2, 99, 2**31, 2**70, -0.5, 1.5, [1, 1], [2, 2], [1, 3], [-2, 0], [True, False]),
)


def test_a_damaged_note_is_refused_or_changes_nothing(whole, tmp_path):
    arrays, note, new, wanted = whole
    path = tmp_path / "damaged.safetensors"
    places, refused = [*entries(note)], 0
    assert len(places) > 15
    for place in places:
        for other in OTHERS:
            changed = copy.deepcopy(note)
            holder = changed
            for key in place[:-1]:
                holder = holder[key]
            if other is MISSING:
                del holder[place[-1]]
            else:
                holder[place[-1]] = other
            if place == ("atlas", "away") and isinstance(other, int | float):
                continue  # a distance, which might have been meant
            if place[-2:] == ("array", 1) and other == [1, 0]:
                continue  # a square array transposed, which might have been meant
            write_arrays(path, arrays, changed)
            refused += outcome(path, new, wanted) == "refused"
    assert refused > 0.8 * len(places) * len(OTHERS)


def test_random_damages_end_no_process(whole, tmp_path):
    """In a process of its own, because what is not refused may end it."""
    arrays, note, new, _ = whole
    write_arrays(tmp_path / "whole.safetensors", arrays, note)
    np.save(tmp_path / "new.npy", new)
    done = subprocess.run(
        [sys.executable, "-c", RANDOM_DAMAGES], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    counts = dict(pair.split("=") for pair in done.stdout.split())
    assert int(counts["refused"]) > 100


RANDOM_DAMAGES = """
import numpy as np
from geodis.base.safetensors_files import read_arrays, write_arrays
from geodis.base.check import InputError
from geodis.manifold.atlas.fitted_atlas import Atlas
arrays, note = read_arrays("whole.safetensors")
new, rng, refused = np.load("new.npy"), np.random.default_rng(0), 0
for trial in range(200):
    held = dict(arrays)
    for name in rng.choice([*held], rng.integers(1, 4), replace=False):
        array = held[name]
        axis = rng.integers(array.ndim)
        size = rng.integers(0, 2 * array.shape[axis] + 2)
        held[name] = np.ascontiguousarray(np.resize(array, array.shape).take(
            np.arange(size) % max(array.shape[axis], 1), axis)) if array.size else array
        if rng.random() < 0.3 and held[name].size:
            at = rng.integers(held[name].size)
            held[name] = held[name].copy()
            held[name].reshape(-1)[at] = rng.choice([-1, 2**31, 99])
    write_arrays("damaged.safetensors", held, note)
    try:
        with np.errstate(all="ignore"):
            Atlas.load("damaged.safetensors").at(new)
    except InputError:
        refused += 1
print(f"refused={refused}")
"""
