"""The analyses of models run, keep what is finished, and measure what they say they measure."""

import json

import numpy as np
import pytest
import torch

from analyses import pixels_to_factors, vae_distances
from analyses.factor_vae_study import __main__ as factor_vae_study
from analyses.isa_tradeoff import __main__ as isa_tradeoff
from analyses.shared.model_runs import run_cases, summarise
from analyses.shared.studies.framework_sets import MASKED
from analyses.shared.vae_cases import BY_FACTOR, KINDS
from analyses.triplet_vaes import __main__ as triplet_vaes
from analyses.vae_frameworks import __main__ as vae_frameworks
from analyses.vae_frameworks.framework_claims import LEARNT
from analyses.variational_bias import __main__ as bias
from geodis import Scenes
from geodis.base import InputError
from geodis.models import VAE, TrainOptions, train

pytestmark = pytest.mark.long

TINY = "tiny-for-tests"
ROWS = np.random.default_rng(0).standard_normal((40, 6)).astype(np.float32)


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.mark.parametrize(
    ("analysis", "figures"),
    [
        (triplet_vaes, {"triplets.png"}),
        (vae_frameworks, {"frameworks.png"}),
        (bias, {"factor_analysis.png", "components.png"}),
        (vae_distances, {"distances.png", "levels.png"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_analysis_runs_through(analysis, figures, tmp_path, monkeypatch, capsys):
    if analysis is triplet_vaes:  # one data set, and the models that differ in what they are told
        some = ("BetaVAE", "AdaTVAE", "AdaTVAE, perceived, blurred", "AdaTVAE, both")
        monkeypatch.setattr(analysis, "ROUNDS", (("XYSquares", some),))
    if analysis is vae_frameworks:  # a learnt kernel, and a set before noise
        some = [run for run in analysis.RUNS if run[0] == MASKED[50] or run[1] == LEARNT]
        monkeypatch.setattr(analysis, "RUNS", tuple(some))
    if analysis is vae_distances:
        monkeypatch.setattr(analysis, "RUNS", analysis.RUNS[:1])
    assert analysis.main(["--preset", TINY, "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"results.json", "results.md", *figures}
    content = json.loads((tmp_path / "results.json").read_text())
    assert content["preset"] == TINY and len(content["rows"]) == len(
        analysis.plan(analysis.PRESETS[TINY])
    )
    assert f"Preset {TINY}" in (tmp_path / "results.md").read_text()


def test_the_quick_preset_is_the_default_and_every_case_is_planned_once():
    for analysis in (triplet_vaes, vae_frameworks, vae_distances, bias, pixels_to_factors):
        longer = ["longer"] if analysis is vae_frameworks else []
        assert list(analysis.PRESETS) == ["quick", *longer, "paper", TINY]
        for preset in analysis.PRESETS.values():
            cases = [json.dumps(case) for case in analysis.plan(preset)]
            assert len(cases) == len(set(cases)) and cases


def test_a_case_of_distances_compares_all_three_kinds():
    sizes = vae_distances.PRESETS[TINY]
    case = {"data": "XYSquares", "loss": vae_distances.BOX, "beta": 0.01, "seed": 0}
    row = vae_distances.run_case(case, sizes)
    # Blurred images order the steps of a square that plain pixels cannot: the published reason.
    assert row["bound along factors"] > 0.9
    plain = vae_distances.run_case({**case, "loss": vae_distances.MSE}, sizes)
    assert plain["bound along factors"] == 0
    for one in (row, plain):
        assert -1 <= one["data random"] <= 1 and one["error of the mean image"] > 0
        by_factor = [value for key, value in one.items() if key.startswith(BY_FACTOR)]
        mean = np.prod(np.clip(by_factor, 0, 1)) ** (1 / len(by_factor))
        assert one["truth along factors"] == pytest.approx(mean)
        assert f"truth random{KINDS}" not in one  # all factors are numbers
    steps = np.abs(np.subtract.outer(range(8), range(8)))
    np.testing.assert_allclose(row["levels"]["ground truth"], steps)
    # The blurred loss sees further places as further apart, the plain one all alike.
    for one, ordered in ((row, True), (plain, False)):
        seen = np.array(one["levels"]["images"])
        assert (seen[0, 1] < 0.5 * seen[0, 7]) == ordered
        assert all(np.shape(matrix) == (8, 8) for matrix in one["levels"].values())
    sprites = vae_distances.run_case({**case, "data": "Sprites", "loss": vae_distances.MSE}, sizes)
    assert sprites[f"bound along factors{KINDS}"] >= sprites["bound along factors"]


def test_blurred_triplets_are_ordered_by_what_a_blurred_error_sees():
    """The published figure has them: a plain error orders places that do not overlap by chance."""
    from analyses.shared.studies.framework_sets import APART, framework_set
    from geodis.distances import distance_correlations
    from geodis.kernels import LossKernel

    grid = framework_set(APART, 16)
    code = np.zeros((len(grid), 1))
    for loss, ordered in (("mse", False), (LossKernel.box(7), True)):
        found = distance_correlations(grid, code, loss, n_pairs=2000, random_state=0)
        _, along = found.overall["ground truth", "perceived"]
        assert (along > 0.9) == ordered


# Studies on sweeps


@pytest.mark.parametrize(
    ("study", "figures", "words"),
    [
        (
            isa_tradeoff,
            ["exponents", "prior_contours", "prior_orientation", "prior_trees", "tradeoff"],
            "28 of 28 runs",
        ),
        (factor_vae_study, ["scores", "strengths", "total_correlation"], "10 of 10 runs"),
    ],
    ids=["isa_tradeoff", "factor_vae_study"],
)
def test_a_study_trains_its_parts_and_reports_what_is_finished(
    study, figures, words, tmp_path, capsys
):
    runs, out = tmp_path / "runs", tmp_path / "out"
    longer = ["longer"] if study is factor_vae_study else []
    assert list(study.PRESETS) == ["quick", *longer, "paper", TINY]
    common = ["--preset", TINY, "--runs", str(runs), "--out", str(out)]
    assert study.main([*common, "--parts", "0"]) == 130  # nothing is there yet
    assert study.main([*common, "--parts", "1"]) == 130
    some = (out / "results.md").read_text()
    assert words not in some and " runs are finished" in some
    assert study.main(common) == 0
    text = (out / "results.md").read_text()
    assert words in text and f"Preset {TINY}" in text
    assert {path.stem for path in out.glob("*.png")} == set(figures)
    content = json.loads((out / "results.json").read_text())
    assert f"{len(content['rows'])} of" in words
    # All is there: nothing is trained, and the numbers are the same.
    assert study.main(common) == 0 and (out / "results.md").read_text() == text


# What is finished is kept


def test_a_case_that_was_stopped_goes_on_from_its_checkpoint(tmp_path):
    sizes = vae_frameworks.PRESETS[TINY]
    case = vae_frameworks.plan(sizes)[0]
    taken, folders = [], []

    def run(case, checkpoint):
        def stop(model, terms):
            taken.append(terms["step"])
            if len(taken) == 2:
                raise KeyboardInterrupt

        folders.append(checkpoint)
        options = TrainOptions(callbacks={"stop": stop}, callback_every=1, checkpoint_every=0)
        train(VAE((6,), 2), ROWS, 4, options=options, checkpoint=checkpoint, verbose=0)
        return {"value": 1.0}

    complete = [run_cases([case], run, tmp_path, TINY, lambda rows, out: None)[1] for _ in range(2)]
    assert complete == [False, True] and folders[0] == folders[1]
    # The step in which it was stopped is taken again, none before it.
    assert taken == [0, 1, 1, 2, 3]
    assert not folders[0].parent.exists()


def test_what_another_version_left_half_done_is_begun_anew(tmp_path):
    def run(case, checkpoint):
        if (checkpoint / "old").exists():
            raise InputError("It was trained by another version of geodis.")
        return {"value": 1.0}

    (place,) = checkpoints_of([{"seed": 1}], tmp_path)
    (place / "old").mkdir(parents=True)
    rows, complete = run_cases([{"seed": 1}], run, tmp_path, TINY, lambda rows, out: None)
    assert complete and [row["value"] for row in rows] == [1.0]
    with pytest.raises(InputError, match="seed"):
        run_cases([{"seed": 2}], refuse, tmp_path, TINY, lambda rows, out: None)


def checkpoints_of(cases, out):
    """Where cases keep their checkpoints."""
    seen = []

    def look(case, checkpoint):
        seen.append(checkpoint)
        raise KeyboardInterrupt

    for case in cases:
        run_cases([case], look, out, TINY, lambda rows, out: None)
    return seen


def refuse(case, checkpoint):
    raise InputError("No such seed.")


def test_finished_cases_are_kept_and_not_run_again(tmp_path):
    calls, cases = [], [{"seed": seed} for seed in range(4)]

    def run(case, checkpoint):
        calls.append(case["seed"])
        if case["seed"] == 2 and len(calls) == 3:
            raise KeyboardInterrupt
        return {"value": float(case["seed"])}

    rows, complete = run_cases(cases, run, tmp_path, "quick", lambda rows, out: None)
    assert not complete and [row["value"] for row in rows] == [0, 1]
    rows, complete = run_cases(cases, run, tmp_path, "quick", lambda rows, out: None)
    assert complete and calls == [0, 1, 2, 2, 3] and [row["value"] for row in rows] == [0, 1, 2, 3]
    run_cases(cases, run, tmp_path, "paper", lambda rows, out: None)
    assert calls[5:] == [0, 1, 2, 3]  # another preset is another experiment
    run_cases(cases, run, tmp_path, "paper", lambda rows, out: None, "more steps")
    assert calls[9:] == [0, 1, 2, 3]  # and so are other settings of the same
    run_cases(cases, run, tmp_path, "paper", lambda rows, out: None, "more steps")
    assert len(calls) == 13


def test_rows_without_a_measure_are_measured_again_and_stay_until_then(tmp_path):
    cases, calls = [{"seed": seed} for seed in range(3)], []

    def run(case, checkpoint):
        return {"old": 1.0}

    run_cases(cases, run, tmp_path, TINY, lambda rows, out: None)

    def measure(case, checkpoint):
        calls.append(case["seed"])
        if calls == [0, 1]:
            raise KeyboardInterrupt
        return {"old": 1.0, "new": 2.0}

    def again():
        return run_cases(cases, measure, tmp_path, TINY, lambda rows, out: None, None, ["new"])

    rows, complete = again()
    assert not complete and ["new" in row for row in rows] == [True, False, False]
    rows, complete = again()
    assert complete and calls == [0, 1, 1, 2] and all("new" in row for row in rows)
    assert [row["case"]["seed"] for row in rows] == [0, 1, 2]
    again()
    assert len(calls) == 4


def test_means_come_with_their_range():
    rows = [{"case": {"model": "a"}, "x": value} for value in (1.0, 2.0, None)]
    assert summarise(rows, ["model"], ["x"], 1) == [["a", "3", "1.5 (1.0 to 2.0)"]]


# Biases of variational inference


def test_the_free_energy_is_the_likelihood_minus_the_distance_to_the_posterior():
    """Exact at beta = 1: log p(x) - KL(q || p(z | x)), both normal."""
    noise, weights = np.full(2, 0.3), bias.rotated(0.4)
    second = weights @ weights.T + np.diag(noise) + 0.1
    precision = weights.T @ (weights / noise[:, None]) + np.eye(2)
    divergence = 0.5 * (np.log(np.diag(precision)).sum() - np.linalg.slogdet(precision)[1])
    expected = bias.log_likelihood(weights, noise, second) - divergence
    assert bias.free_energy(weights, noise, second) == pytest.approx(expected)


@pytest.mark.parametrize("beta", [0.5, 1.0, 5.0])
def test_the_free_energy_prefers_orthogonal_and_few_components(beta):
    rotation = bias.factor_analysis({"part": "rotation", "beta": beta})
    assert rotation["best"] == pytest.approx(0) and rotation["range"] > 0.01
    assert np.ptp(rotation["likelihood"]) < 1e-10
    third = bias.factor_analysis({"part": "third", "beta": beta})
    assert third["best"] == 0 and (np.diff(third["energy"]) < 0).all()
    assert np.ptp(third["likelihood"]) < 1e-10


def test_a_heavier_divergence_flattens_the_free_energy():
    ranges = [bias.factor_analysis({"part": "rotation", "beta": b})["range"] for b in bias.BETAS]
    assert (np.diff(ranges) < 0).all()


def test_fitting_components_never_lowers_the_free_energy():
    preset = bias.PRESETS[TINY]
    case = {"part": "components", "freedom": bias.SPARSER, "beta": 1.0, "seed": 0}
    row = bias.independent_components(case, preset)
    assert row["energy"] >= row["energy_of_true"]
    assert row["coupling"] < row["coupling_true"]


# From pixels to factors


def test_true_latents_have_the_true_factors_and_random_directions_have_not():
    preset = pixels_to_factors.PRESETS[TINY]
    case = {"light": "free", "method": pixels_to_factors.TRUE, "seed": 0}
    row = pixels_to_factors.run_case(case, preset)
    assert row["found"] == [3, 2] and row["cca"] < 0.05 and row["fd"] < 0.05
    chance = pixels_to_factors.run_case({**case, "method": pixels_to_factors.CHANCE}, preset)
    assert chance["cca"] == pytest.approx(1.26, abs=0.05)  # published: 1.25


def test_displacements_through_the_encoder_span_what_it_makes_of_the_factors():
    """A code that mixes the latents linearly carries their tangents with it."""
    scenes = Scenes(16, n_jobs=1)
    test = scenes.sample(40, random_state=0)
    pushed = pixels_to_factors.displaced(test, np.arange(10), test.points, None)
    for frames, found in zip(test.tangents, pushed, strict=True):
        # Chords of a geodesic are parallel to its tangent in the middle.
        inside = np.linalg.norm(np.einsum("nij,nkj->nik", found, frames[:10]), axis=(1, 2))
        np.testing.assert_allclose(inside, np.sqrt(frames.shape[1]), rtol=1e-6)


def test_metric_encoders_go_all_the_way():
    preset = pixels_to_factors.PRESETS[TINY]
    for method in (pixels_to_factors.LABELLED, pixels_to_factors.WALKS):
        row = pixels_to_factors.run_case({"light": "free", "method": method, "seed": 0}, preset)
        assert 0 <= row["cca"] <= np.pi / 2 and row["columns"] in (10, 12)


def test_labels_have_the_distances_they_should():
    sample = Scenes(8, n_jobs=1).sample(5, random_state=0)
    rows = pixels_to_factors.labels(sample)
    expected = ((sample.rotations[0] - sample.rotations[1]) ** 2).sum() / 2 + (
        (sample.lights[0] - sample.lights[1]) ** 2
    ).sum()
    assert ((rows[0] - rows[1]) ** 2).sum() == pytest.approx(expected)
