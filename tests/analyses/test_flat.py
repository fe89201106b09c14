"""The comparison on flat factors runs, and compares what it says it compares."""

import json

import numpy as np
import pytest

from analyses import flat_factors as analysis
from analyses.shared import flat_checks as checks
from analyses.shared import flat_latents as latents
from analyses.shared.flat_methods import rank_correlations, thinned, turns_of_factors
from geodis.data.manifolds.flat_products import FlatSample, flat_sample

pytestmark = pytest.mark.long

TINY = analysis.Preset(500, (0,), ("rectangle", "L-shape"), drawn=("rectangle",))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    out = tmp_path_factory.mktemp("flat")
    rows, complete = analysis.run(TINY, out, name="tiny", verbose=False)
    assert complete
    return rows, out


def test_everything_is_written_and_drawn(results):
    rows, out = results
    assert {path.name for path in out.iterdir()} == {
        "results.json",
        "results.md",
        "rectangle.png",
        "rectangle_contrasts.png",
    }
    assert len(json.loads((out / "results.json").read_text())["rows"]) == len(rows)
    text = (out / "results.md").read_text()
    assert "- L-shape: their support is not a product" in text
    methods = {row["method"] for row in rows}
    assert {analysis.OURS, analysis.OURS_GRADIENT, "local PCA", *analysis.installed()} == methods


def test_unrolling_beats_ambient_methods_and_isomap(results):
    errors = {row["method"]: row["error"] for row in results[0] if row["case"] == "rectangle"}
    assert errors[analysis.OURS] < 1
    for rival in ("FastICA, ambient", "PCA, ambient", "Isomap + ICA", "local PCA"):
        assert errors[analysis.OURS] < 0.5 * errors[rival]


@pytest.mark.parametrize("case", ["box", "disc x interval"])
def test_true_coordinates_and_true_directions_have_no_error(case):
    sample = flat_sample(case, 1500, random_state=0)
    gradients = analysis.gradient_directions(3 * sample.coordinates[:, ::-1], sample)
    assert analysis.degrees(gradients, sample) < 0.5
    exact = np.concatenate(sample.tangents, axis=1)
    assert analysis.degrees(exact, sample) == pytest.approx(0, abs=1e-4)
    mixed = sample.coordinates @ np.array([[1, 1, 0], [-1, 1, 0], [0, 0, 1]])
    if case == "box":
        assert analysis.degrees(analysis.gradient_directions(mixed, sample), sample) > 25


def test_a_seam_hardly_disturbs_gradients():
    sample = flat_sample("circle x interval", 2000, random_state=0)
    gradients = analysis.gradient_directions(sample.coordinates, sample)
    assert analysis.degrees(gradients, sample) < 1


def test_an_interrupt_keeps_what_is_finished(tmp_path, monkeypatch):
    def interrupted(case, n, seed):
        if case == "L-shape":
            raise KeyboardInterrupt
        return [{"case": case, "n": n, "seed": seed, "method": "m", "error": 1.0}]

    monkeypatch.setattr(analysis, "run_case", interrupted)
    rows, complete = analysis.run(TINY, tmp_path, verbose=False)
    assert len(rows) == 1 and not complete
    assert json.loads((tmp_path / "results.json").read_text())["rows"] == rows


def test_every_case_can_be_made():
    for case in analysis.ALL:
        sample = analysis.make(case, 60, 0)
        assert sum(sample.factor_dims) == sample.coordinates.shape[1]


def test_what_is_finished_is_not_run_again(tmp_path, monkeypatch):
    ran = []

    def counted(case, n, seed):
        ran.append(case)
        row = {"case": case, "n": n, "seed": seed, "method": analysis.OURS, "error": 1.0}
        return [{**row, "found": [1], "doubts": [], "reasons": []}]

    monkeypatch.setattr(analysis, "run_case", counted)
    preset = analysis.Preset(500, (0, 1), ("rectangle", "box"), drawn=())
    for _ in range(2):
        rows, _ = analysis.run(preset, tmp_path, name="tiny", verbose=False)
        assert len(rows) == 4
    assert ran == ["rectangle", "box", "rectangle", "box"]
    fewer = analysis.Preset(500, (0, 1, 2, 3), ("box", "hole"), ("hole",), drawn=())
    rows, _ = analysis.run(fewer, tmp_path, name="other", verbose=False)
    assert [row["case"] for row in rows] == ["hole"] * 4 + ["box"] * 3


def test_thinning_keeps_rows_together():
    sample = flat_sample("disc x interval", 300, random_state=0)
    few = thinned(sample, 100)
    assert thinned(sample, 300) is sample and len(few.points) == 100
    for point, u, t in zip(few.points, few.coordinates, few.tangents[0], strict=True):
        row = np.flatnonzero((sample.points == point).all(axis=1))[0]
        np.testing.assert_array_equal(u, sample.coordinates[row])
        np.testing.assert_array_equal(t, sample.tangents[0][row])


def test_rank_correlations_match_factors_once():
    u = np.random.default_rng(0).uniform(size=(400, 3))
    curved = np.column_stack([np.exp(3 * u[:, 2]), -u[:, 0], np.zeros(400)])
    curved[7] = np.nan
    ranks = rank_correlations(curved, u)
    assert ranks[0] == pytest.approx(1) and ranks[2] == pytest.approx(1) and ranks[1] < 0.2


def test_factors_that_are_coordinates_do_not_turn():
    sample = flat_sample("box", 300, random_state=0)
    frames = np.concatenate(sample.tangents, axis=1)
    np.testing.assert_allclose(turns_of_factors(frames, sample), 0, atol=1e-4)
    angle = np.linspace(-1, 1, 301)  # polar coordinates of a plane, whose frame is constant
    radial = np.column_stack([np.cos(angle), np.sin(angle)])[:, None]
    polar = FlatSample(radial[:, 0], radial[:, 0], [radial, radial[:, :, ::-1]], 1.0, "polar")
    constant = np.broadcast_to(np.eye(2), (301, 2, 2))
    np.testing.assert_allclose(turns_of_factors(constant, polar), np.degrees(0.5), rtol=0.01)


def test_grouped_rotations_are_compared_with_the_truth(monkeypatch):
    monkeypatch.setattr(checks, "GROUPED", ("disc x interval",))
    monkeypatch.setattr(checks, "NEIGHBOURS", (checks.FEW, checks.AUTO))
    rows = checks.likelihood_against_pairs(700, (0,))
    assert rows[0]["believed"] < 10
    noisy = checks.neighbourhoods(500, (0,), lambda sample, seed: 1.0)
    assert noisy[0]["chosen"] < noisy[0]["30"]
    text = "\n".join(checks.lines_of(noisy, rows))
    assert "| neighbours | 30 | chosen |" in text and "| disc x interval |" in text


# Latents.


def test_directions_of_latents_are_differences_along_the_factors():
    levels = np.indices((4, 5)).reshape(2, -1).T
    slope = np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 2.0]])
    sample = latents.as_sample("a plane", levels @ slope, levels)
    for tangent, row in zip(sample.tangents, slope, strict=True):
        np.testing.assert_allclose(tangent[:, 0], np.tile(row / np.linalg.norm(row), (20, 1)))
    assert latents.skewness_of(sample) == pytest.approx(30)  # their cosine is a half


@pytest.mark.parametrize("data", [latents.SPRITES, latents.SQUARE, latents.SQUARES])
def test_levels_are_those_of_a_full_grid_in_order(data):
    images, levels, names = latents.data_of(data)
    sizes = levels.max(axis=0) + 1
    np.testing.assert_array_equal(levels, np.indices(sizes).reshape(len(sizes), -1).T)
    assert images.shape[:3] == (len(levels), 32, 32) and len(names) == len(sizes)
    few = images[::7].reshape(len(images[::7]), -1)
    assert len(np.unique(few, axis=0)) == len(few)


def test_latents_are_trained_once_and_reported(tmp_path, monkeypatch):
    short = latents.LatentCase(latents.SQUARE, "AE", steps=2)
    monkeypatch.setitem(latents.LATENT_CASES, "short", short)
    sample, told = latents.latent_sample("short", tmp_path)
    assert sample.points.shape == (841, 10) and told["explained"] < 1
    monkeypatch.setattr(latents, "train_latents", None)  # a second training would fail
    again, _ = latents.latent_sample("short", tmp_path)
    np.testing.assert_array_equal(again.points, sample.points)
    row = {"case": "short", **told, "names": ("x", "y"), "method": "GeoManCER", "error": 3.0}
    row |= {"found": [2], "said": "flat part of dimension 2", "ranks": [0.9, 0.8]}
    text = "\n".join(latents.latent_lines([row]))
    assert "- short: 2. flat part of dimension 2" in text and "0.90, 0.80" in text
    assert latents.latent_lines([]) == []
