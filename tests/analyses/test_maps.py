"""The analysis of maps runs through, and says what stays behind."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from analyses import maps
from analyses.shared.maps import map_report, map_walks
from benchmarks.map_cases.cases import draw
from benchmarks.map_cases.ours import OwnMaps

pytestmark = pytest.mark.long

TINY = "tiny-for-tests"


def test_the_analysis_runs_through(tmp_path):
    assert maps.main(["--preset", TINY, "--out", str(tmp_path)]) == 0
    assert {"results.json", "results.md", "products.png"} <= {p.name for p in tmp_path.iterdir()}
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert len(rows) == len(maps.plan(maps.PRESETS[TINY]))
    for part in map_report.parts_of(rows):
        assert part["r2"] > 0.99 and part["leaked"] < 0.05 and part["without"] < 0.02
    text = (tmp_path / "results.md").read_text()
    assert "Where the prototype was measured" in text and "| true latents | SO(3) |" in text


def test_every_case_is_planned_once():
    assert list(maps.PRESETS) == ["quick", "paper", TINY]
    for preset in maps.PRESETS.values():
        cases = [json.dumps(case, sort_keys=True) for case in maps.plan(preset)]
        assert len(cases) == len(set(cases))
    assert {key[:3] for key in map_report.PROTOTYPE} == set(maps.PUBLISHED)


@pytest.mark.parametrize("kind", ["clean", "bent .5", "bent 1"])
def test_true_coordinates_are_read_from_points(kind):
    sample = draw("SO(3) x S^2", 300, kind)
    read = map_walks.exact_reader(sample, kind)
    for own, true in zip(read(sample.points[:9]), sample.coordinates, strict=True):
        np.testing.assert_allclose(own, true[:9], atol=1e-10)
    np.testing.assert_allclose(map_walks.reading_error(sample, read, 0), 0, atol=1e-6)


def test_codes_are_read_from_others_than_themselves():
    sample = draw("S^2 x circle", 4000)
    error = map_walks.reading_error(sample, map_walks.local_reader(sample), 0)
    assert 1e-3 < max(error) < 0.05
    shuffled = np.random.default_rng(0).permutation(4000)
    wrong = replace(sample, coordinates=[x[shuffled] for x in sample.coordinates])
    assert min(map_walks.reading_error(wrong, map_walks.local_reader(wrong), 0)) > 0.5


def test_places_beside_a_factor_are_put_on_it():
    rotation = draw("SO(3) x S^2", 5).coordinates[0]
    np.testing.assert_allclose(map_walks.on_factor("SO(3)", 1.3 * rotation), rotation)
    mirrored = map_walks.on_factor("SO(3)", -np.eye(3).reshape(1, 9))
    assert np.linalg.det(mirrored.reshape(3, 3)) == pytest.approx(1)
    np.testing.assert_allclose(map_walks.on_factor("S^2", np.array([[0, 3.0, 4]])), [[0, 0.6, 0.8]])
    assert map_walks.on_factor("interval", rotation) is rotation


def test_what_walks_move_is_measured(monkeypatch):
    """Along great circles of the true sphere, with a drift of the circle that is known."""
    sample = draw("S^2 x circle", 500)
    drift = np.linspace(0, 0.1, map_walks.STEPS)
    back = np.linalg.lstsq(np.hstack(sample.coordinates), sample.points, rcond=None)[0]

    class Fit:
        def walk(self, start, factor, *, direction, length, steps):
            x, y = (own[start] for own in sample.coordinates)
            t = np.linspace(0, length, steps)[:, None]
            along = np.cross(x, [0.3, 0.5, 0.8])
            along /= np.linalg.norm(along)
            sphere = np.cos(t) * x + np.sin(t) * along if factor == 0 else np.tile(x, (steps, 1))
            turn = np.arctan2(y[1], y[0]) + (t[:, 0] if factor == 1 else drift)
            points = np.hstack([sphere, np.column_stack([np.cos(turn), np.sin(turn)])]) @ back
            return SimpleNamespace(points=points, gap=np.ones(steps), spacing=2.0, stopped=None)

    own = OwnMaps(Fit(), [0, 1], sample.coordinates, 0.0, 0.0)
    read = map_walks.exact_reader(sample, "clean")
    rows, strips = map_walks.walked(sample, own, read, 0)
    assert rows[0]["leak"] == pytest.approx(np.sqrt((drift[1:] ** 2).mean()), abs=1e-6)
    assert rows[0]["most"] == pytest.approx(0.1, abs=1e-6) and rows[0]["gap"] == 0.5
    assert rows[0]["moved"] == pytest.approx(map_walks.LENGTH) and rows[0]["stopped"] == "0 of 12"
    assert rows[1]["leak"] == pytest.approx(0, abs=1e-6)
    assert [len(strip.coordinates[0]) for strip in strips] == [map_walks.STEPS] * 2
    row: dict = {
        "factors": [{}, {}],
        "case": {"product": "p", "kind": "clean", "n": 500, "seed": 0},
    }
    map_walks.add_walks(row, sample, own, read, 0)
    row["found"], row["uncertain"] = [2, 1], False
    for part, name in zip(row["factors"], ("S^2", "circle"), strict=True):
        part["factor"] = name
    assert "| p, clean | 500 | circle | 1 | 0.000 |" in "\n".join(map_report.walk_lines([row]))


def test_codes_are_learnt_once(tmp_path, monkeypatch):
    import geodis as gd

    preset = maps.PRESETS[TINY]
    test = gd.Scenes(maps.pixels.IMAGE_SIZE, n_jobs=1).sample(40, random_state=0, verbose=0)
    assert maps.codes_of(maps.TRUE, test, preset, 0, tmp_path) is test.points
    made = []

    def encoder(name, scenes, settings, seed):
        made.append(name)
        return lambda images: images.reshape(len(images), -1)[:, :4] / 255.0, {}

    monkeypatch.setattr(maps.pixels, "encoder_of", encoder)
    codes = [maps.codes_of(maps.LABELLED, test, preset, 0, tmp_path) for _ in range(2)]
    np.testing.assert_allclose(codes[0], codes[1], atol=1e-6)
    assert made == [maps.LABELLED] and codes[0].shape == (40, 4)


@pytest.mark.parametrize(
    ("kind", "said", "right"),
    [
        ("sphere", "sphere", True),
        ("SO(3)", "S^3", False),
        ("cap", "sheet", False),
        ("circle", "unknown", None),
    ],
)
def test_names_are_right_wrong_or_unknown(kind, said, right):
    assert map_report.right_name(kind, said) is right


def test_what_stays_behind_is_named():
    case = {"part": "products", "product": "p", "n": 4000, "kind": "clean", "seed": 0}
    row = {"case": case, "found": [2, 2], "uncertain": False}
    good = {"factor": "S^2", "kind": "sphere", "r2": 0.999, "error": 0.01, "said": "sphere"}
    row["factors"] = [good, good | {"r2": 0.9, "error": 0.02, "said": "torus"}]
    lines = map_report.missed_lines([row])
    assert lines == [
        "- p, clean, n = 4,000, seed 0: S^2: R^2 0.9000; error 0.0200 for 0.012; called torus"
    ]
    row["factors"] = [good | {"walk": {"leak": 0.03}}]
    assert "a walk leaks 0.0300 for 0.02" in map_report.missed_lines([row])[0]
    row["factors"] = [good]
    assert map_report.missed_lines([row]) == ["- none"]
    row["factors"] = [{"factor": "S^2", "kind": "sphere"}]
    assert "no map, 2 + 2 was found" in map_report.missed_lines([row])[0]
    assert map_report.name_line([{**row, "factors": [good, good]}]).startswith("Of 2 names 2 are")
