"""The comparison on flat factors runs, and compares what it says it compares."""

import json

import numpy as np
import pytest

from analyses import flat_factors as analysis
from geodis.data.flats import flat_sample

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
        "results.json", "results.md", "rectangle.png", "rectangle_contrasts.png",
    }  # fmt: skip
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
    assert analysis.latent_cases() == {}
