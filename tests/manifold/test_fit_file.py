"""A fit that was saved and loaded answers bit for bit like the one that was saved."""

import json
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.base.safetensors_files import read_arrays, write_arrays

NEW = 20


def spheres(**options):
    return gd.product_manifold("S^2 x S^1", 600, random_state=0, **options).points


def in_pieces():
    points = spheres()
    points[400:, 0] += 10
    points[:4] += 50 * np.random.default_rng(0).standard_normal((4, 5))
    return points


def distances():
    points = spheres()
    return np.linalg.norm(points[:, None] - points, axis=2)


CASES = {
    "spheres": lambda: (spheres(), {}, {}),
    "noise": lambda: (spheres(pad=12, noise=0.02, rotate=True), {}, {}),
    "pieces": lambda: (in_pieces(), {}, {}),
    "torus": lambda: (gd.product_manifold("S^1 x S^1(2)", 500, random_state=0).points, {}, {}),
    "curve": lambda: (gd.product_manifold("S^1", 200, random_state=0).points, {}, {}),
    "few": lambda: (spheres()[:60], {}, {}),
    "pca": lambda: (spheres(), {"tangents": "pca", "n_factors": 2}, {}),
    "graph": lambda: (spheres(), {}, {"graph": gd.neighbor_graph(spheres(), 10).adjacency}),
    "groups": lambda: (spheres(), {}, {"groups": np.repeat([*"abcdef"], 100)}),
    "sample": lambda: (spheres(), {}, {"sample": 500}),
    "cosine": lambda: (3 * spheres(), {"metric": "cosine"}, {}),
    "distances": lambda: (distances(), {"metric": "precomputed"}, {}),
    "scan": lambda: (spheres(noise=0.15), {"dim": "scan"}, {}),
}


@pytest.fixture(scope="module", params=CASES)
def pair(request, tmp_path_factory):
    X, settings, given = CASES[request.param]()
    path = tmp_path_factory.mktemp("fits") / "fit.safetensors"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = gd.GeoManCER(verbose=0, **settings).fit(X, **given)
        assert est.save(path) == path
        yield est, gd.load(path), X


LAZY = {"fitted_", "maps_", "topology_", "names_", "product_test_"}
ATTRIBUTES = [name for name in dir(gd.GeoManCER) if name[-1] == "_" != name[0] and name not in LAZY]


def answers(est, X):
    """Everything that was found, and what is made of it."""
    found = {name: getattr(est, name) for name in ATTRIBUTES}
    found["params"] = est.get_params()
    if hasattr(est, "maps_"):
        found |= {f"map {j}": est.coordinates(j) for j in range(est.n_factors_)}
        found["distances"] = est.factor_distances(0, 5, np.arange(20))
        found["product"] = str(est.product_test_)
        found["names"] = est.names_, est.get_feature_names_out()
        row = int(np.flatnonzero(est.fitted_.with_axes)[0])
        found["walk"] = est.walk(row, 0, steps=5).points
    if est.metric != "precomputed":
        rng = np.random.default_rng(1)
        new = X[:NEW] + 0.01 * rng.standard_normal(X[:NEW].shape)
        found["at"], found["transform"], found["score"] = (
            est.at(new),
            est.transform(new),
            est.score(X),
        )
    found["summary"] = est.summary()
    return found


@pytest.mark.filterwarnings("ignore")
def test_a_loaded_fit_answers_like_the_saved_one(pair):
    est, loaded, X = pair
    before, after = answers(est, X), answers(loaded, X)
    assert before.keys() == after.keys()
    for name in before:
        # Pickles hold every bit, of arrays within anything too.
        assert pickle.dumps(before[name]) == pickle.dumps(after[name]) or str(before[name]) == str(
            after[name]
        ), name
        if isinstance(before[name], np.ndarray) and before[name].dtype != object:
            assert before[name].tobytes() == after[name].tobytes(), name


def test_another_process_answers_the_same(tmp_path):
    points = spheres()
    est = gd.GeoManCER(verbose=0).fit(points[:550], confidence="quick")
    path = est.save(tmp_path / "fit.safetensors")
    code = (
        "import sys, geodis as gd; est = gd.load(sys.argv[1])\n"
        "import numpy as np; assert 'scipy.io' not in sys.modules\n"
        "X = np.load(sys.argv[2]); print(est.transform(X).tobytes().hex())\n"
        "print(est.names_, est.confidence_, est.doubts_)"
    )
    np.save(tmp_path / "new.npy", points[550:])
    run = [sys.executable, "-W", "ignore", "-c", code, str(path), str(tmp_path / "new.npy")]
    out = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    told, rest = out.split("\n", 1)
    assert bytes.fromhex(told) == est.transform(points[550:]).tobytes()
    assert rest.strip() == f"{est.names_} {est.confidence_} {est.doubts_}"


def test_names_of_columns_and_refits_are_kept(tmp_path):
    frame = pd.DataFrame(spheres(), columns=list("abcde"))
    est = gd.GeoManCER(verbose=0, random_state=np.random.default_rng(3)).fit(frame)
    loaded = gd.load(est.save(tmp_path / "fit.safetensors"))
    assert list(loaded.feature_names_in_) == list("abcde") and loaded.random_state is None
    assert loaded.transform(frame[:3]).shape == (3, 5)
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(frame[:3].rename(columns={"a": "z"}))
    assert loaded.fit(frame).n_factors_ == 2


def test_functions_are_not_saved(tmp_path):
    est = gd.GeoManCER(verbose=0, prepare=np.sqrt).fit(spheres() + 2)
    with pytest.raises(InputError, match="A fit with a function for prepare cannot be saved"):
        est.save(tmp_path / "fit.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    est = gd.GeoManCER(verbose=0).fit(spheres())
    return est, est.save(tmp_path_factory.mktemp("one") / "fit.safetensors")


def test_only_an_earlier_fit_is_replaced_and_only_when_asked(saved, tmp_path):
    est, path = saved
    with pytest.raises(InputError, match=r"There is a file at .* already: give overwrite=True"):
        est.save(path)
    before = path.read_bytes()
    assert est.save(path, overwrite=True).read_bytes() == before
    other = write_arrays(tmp_path / "other.safetensors", {"a": np.arange(3)})
    text = tmp_path / "text.safetensors"
    text.write_text("mine")
    for one in (other, text):
        held = one.read_bytes()
        with pytest.raises(InputError, match=r"text|Only the file of a fit is replaced"):
            est.save(one, overwrite=True)
        assert one.read_bytes() == held
    with pytest.raises(InputError, match=r"ends in \.safetensors; got fit.npz"):
        est.save("fit.npz")


def test_no_fit_is_saved_before_there_is_one(tmp_path):
    with pytest.raises(AttributeError, match="not fitted yet"):
        gd.GeoManCER().save(tmp_path / "fit.safetensors")


def test_files_of_anything_else_are_refused(saved, tmp_path):
    path = saved[1]
    with pytest.raises(InputError, match="got none there"):
        gd.load(tmp_path / "absent.safetensors")
    other = write_arrays(tmp_path / "other.safetensors", {"a": np.arange(3)})
    with pytest.raises(InputError, match="must hold a fit; got a file of something else"):
        gd.load(other)
    cut = tmp_path / "cut.safetensors"
    for size in (3, 500, 5000, len(path.read_bytes()) - 8):
        cut.write_bytes(path.read_bytes()[:size])
        with pytest.raises(InputError):
            gd.load(cut)


def changed(path, out, change):
    arrays, note = read_arrays(path)
    change(arrays, note)
    write_arrays(out, arrays, note)
    return out


def set_entry(name, index, value):
    def change(arrays, note):
        arrays[name] = arrays[name].copy()
        arrays[name][index] = value

    return change


def set_array(name, make):
    def change(arrays, note):
        arrays[name] = make(arrays[name])

    return change


def set_note(value, *path):
    def change(arrays, note):
        for step in path[:-1]:
            note = note[step]
        note[path[-1]] = value

    return change


def remove(name):
    return lambda arrays, note: arrays.pop(name)


TAMPERED = {
    "version": (set_note(99, "version"), "of version 1; got 99"),
    "a part is missing": (lambda a, note: note["fit"].pop("dim"), "dim is missing"),
    "an unknown part": (set_note(1, "fit", "code"), "code is missing or not known"),
    "an unknown parameter": (lambda a, note: note["parameters"]["dict"].append(["run", 1]), "run"),
    "a wrong parameter": (set_note([["tangents", "x"]], "parameters", "dict"), "tangents must be"),
    "an array is missing": (remove("points"), "points"),
    "a text for a number": (set_note("3", "fit", "dim"), "a value of type"),
    "another dimension": (set_note(2, "fit", "dim"), "factors of 2 dimensions|axes of 600"),
    "points of another shape": (set_array("points", lambda x: x[:-1]), "must hold a fit with"),
    "points of another type": (set_array("points", lambda x: x.astype("f4")), "finite points"),
    "points that are no numbers": (set_entry("points", (0, 0), np.nan), "finite points"),
    "axes that are infinite": (set_entry("flat/axes", (0, 0, 0), np.inf), "axes of length 1"),
    "axes that are too long": (set_entry("flat/axes", (0, 0, 0), 1e300), "axes of length 1"),
    "directions without numbers": (set_entry("split/bases/0", (0, 0), np.nan), "of length 1 in"),
    "an order of floats": (set_array("flat/order", lambda x: x.astype(float)), "an order of"),
    "outliers of another length": (set_array("outliers", lambda x: x[:5]), "outliers of 600"),
    "a graph with other rows": (set_entry("graph/adjacency/1", 0, 10**6), "cannot be built"),
    "a graph with negative rows": (set_entry("graph/adjacency/1", 0, -1), "cannot be built"),
    "a piece that is none": (set_entry("graph/piece", 0, 7), "pieces of the graph"),
    "rows of a split": (set_array("split/rows", lambda x: x + 1), "a split of 600 points"),
    "an order of the axes": (set_array("flat/order", lambda x: x * 0), "an order of 3 axes"),
    "periods": (set_array("flat/periods/0", lambda x: np.ones((1, 2))), "periods of every flat"),
    "periods without numbers": (set_entry("flat/periods/0", (0, 0), np.nan), "finite periods"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_files_that_were_altered_are_refused_in_one_sentence(saved, tmp_path, name):
    change, message = TAMPERED[name]
    with pytest.raises(InputError, match=message) as told:
        gd.load(changed(saved[1], tmp_path / "fit.safetensors", change))
    assert "\n" not in str(told.value) and "fit.safetensors" in str(told.value)


def test_the_file_has_neither_code_nor_names_of_classes(saved):
    text = json.dumps(read_arrays(saved[1])[1])
    assert "geodis." not in text and "GeoManCER" not in text and "__" not in text
