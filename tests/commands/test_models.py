"""`geodis train`, `encode` and `traverse`: a run from the command line to files others read."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from geodis.base.check import InputError
from geodis.commands.train import stopping
from geodis.commands.trained_models import settings_of
from geodis.data.files.load import load_factors
from geodis.kernels.loss_kernel import LossKernel
from geodis.kernels.storage import save_kernel
from geodis.models import encode, load_model
from geodis.models.saving import loss_named


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture
def images(tmp_path):
    factors = np.stack(np.unravel_index(np.arange(20), (5, 4)), axis=1)
    pictures = np.zeros((20, 8, 8), dtype=np.uint8)
    pictures[np.arange(20), factors[:, 0], factors[:, 1]] = 255
    np.save(tmp_path / "x.npy", pictures)
    pd.DataFrame(factors, columns=["row", "column"]).to_csv(tmp_path / "f.csv", index=False)
    return tmp_path


def start(geodis, folder, *more):
    return geodis(
        "train",
        "--images",
        folder / "x.npy",
        "--factors",
        folder / "f.csv",
        "--out",
        folder / "run",
        "--steps",
        4,
        "--batch-size",
        8,
        "--latents",
        3,
        "--quiet",
        *more,
    )


def test_a_model_is_trained_encoded_and_drawn(geodis, images):
    code, out, err = start(
        geodis,
        images,
        "--model",
        "ada-tvae",
        "--set",
        "beta=0.01",
        "--normalise",
        "mean",
        "--standardise",
        "--watch",
        "mig",
        "--watch-every",
        2,
    )
    assert (code, err) == (0, "") and "AdaTVAE: 4 steps on cpu in float32" in out
    run = images / "run"
    written = {path.name for path in run.glob("[!.]*")}
    assert written == {
        "model.safetensors",
        "config.json",
        "checkpoint.safetensors",
        "history.json",
        "training.png",
    }
    assert all(str(run / name) in out for name in written)
    config = json.loads((run / "config.json").read_text())
    assert config["settings"]["beta"] == 0.01 and config["options"]["normalise"] == "mean"
    assert config["data"]["images"].endswith("x.npy") and config["training"]["steps"] == 4
    history = json.loads((run / "history.json").read_text())
    assert "adaptive_triplet" in history[0] and "score mig" in history[-1]

    code, out, _ = geodis("encode", run, "--out", images / "z.npz", "--quiet")
    assert code == 0 and "latents (20, 3)" in out
    arrays = np.load(images / "z.npz")
    np.testing.assert_array_equal(
        arrays["latents"], encode(load_model(run), np.load(images / "x.npy"))
    )
    beside = {"factor_names", "factor_kinds"}
    assert set(arrays) == {"latents", "index", "log_variances", "factors", *beside}
    names = tuple(pd.read_csv(images / "f.csv").columns)
    assert load_factors(f"{images / 'z.npz'}:factors").names == names
    np.testing.assert_array_equal(arrays["factors"], np.array(pd.read_csv(images / "f.csv")))

    geodis("encode", run, "--out", images / "few.npz", "--n", 5, "--quiet")
    few = np.load(images / "few.npz")
    np.testing.assert_array_equal(few["latents"], arrays["latents"][few["index"]])
    assert len(few["index"]) == 5

    code, out, _ = geodis("traverse", run, "--steps", 3, "--index", 7, "--quiet")
    assert code == 0 and "3 latents, 3 steps each" in out
    assert (run / "traversals.png").read_bytes().startswith(b"\x89PNG")
    for again in (("traverse", run), ("encode", run, "--out", images / "z.npz")):
        assert geodis(*again, "--quiet")[0] == 0
    (run / "traversals.png").write_text("mine")
    code, _, err = geodis("traverse", run, "--quiet")
    assert code == 2 and "traversals.png, not written by geodis or changed since" in err
    assert (run / "traversals.png").read_text() == "mine"


def test_the_same_command_with_more_steps_goes_on(geodis, images):
    start(geodis, images, "--model", "vae")
    code, out, _ = start(geodis, images, "--model", "vae", "--steps", 6)
    assert code == 0 and "VAE: 6 steps" in out
    code, _, err = start(geodis, images, "--model", "ae", "--steps", 8)
    assert code == 2 and "is a checkpoint of VAE, and the model is AE" in err


def test_a_model_of_others_is_kept(geodis, images):
    run = images / "run"
    run.mkdir()
    (run / "history.csv").write_text("step,name,value\n0,kl,0.5\n")  # as a kill leaves it
    assert start(geodis, images, "--model", "vae", "--log", "csv")[0] == 0
    for name in ("checkpoint.safetensors", ".geodis-written.json"):  # the configuration is enough
        (run / name).unlink()
    assert start(geodis, images, "--model", "vae", "--log", "csv")[0] == 0
    for name in ("config.json", ".geodis-written.json"):  # and so is the checkpoint
        (run / name).unlink()
    assert start(geodis, images, "--model", "vae", "--log", "csv")[0] == 0
    for path in [*run.glob("checkpoint*"), run / ".geodis-written.json"]:
        path.unlink()
    (run / "config.json").write_text('{"model_type": "vit"}')
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    code, _, err = start(geodis, images, "--model", "vae")
    assert code == 2 and "with model.safetensors, config.json" in err
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def test_rows_without_factors_and_other_images(geodis, tmp_path):
    rows = np.random.default_rng(0).random((30, 5))
    np.save(tmp_path / "x.npy", rows)
    code, _, err = geodis(
        "train",
        "--images",
        tmp_path / "x.npy",
        "--model",
        "vae",
        "--steps",
        2,
        "--batch-size",
        8,
        "--out",
        tmp_path / "run",
        "--quiet",
    )
    assert (code, err) == (0, "")
    np.save(tmp_path / "y.npy", rows[:4])
    geodis("encode", tmp_path / "run", "--images", tmp_path / "y.npy", "--out", tmp_path / "z.npz")
    assert np.load(tmp_path / "z.npz")["latents"].shape == (4, 10)
    assert geodis("traverse", tmp_path / "run", "--out", tmp_path / "t.png")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "--out", "run"), "named by --data or --images; got neither"),
        (("train", "--out", "run", "--data", "mnist"), "--data must be one of xysquares"),
        (("train", "--out", "run", "--data", "sprites", "--model", "vat"), "The model must be one"),
        (("train", "--out", "run", "--data", "dsprites"), "needs --path"),
        (
            ("train", "--out", "run", "--data", "sprites", "--factors", "f.csv"),
            "--factors need --images; got --data sprites",
        ),
        (("train", "--out", "run", "--data", "sprites", "--set", "beta"), "--set takes name=value"),
        (
            ("train", "--out", "run", "--data", "sprites", "--set", "gamma=1"),
            "BetaVAE has the settings beta; got gamma",
        ),
        (("train", "--out", "run", "--data", "sprites", "--loss", "l1"), "--loss must be mse"),
        (
            (
                *("train", "--out", "run", "--data", "sprites", "--model", "isa-vae"),
                *("--set", "subspaces=x"),
            ),
            "subspaces must be [(exponent, size), ...]; got 'x'",
        ),
        (
            ("train", "--out", "run", "--images", "x.npy", "--spacing", "3"),
            "--spacing needs --data; got --images",
        ),
        (
            (
                "train",
                "--out",
                "run",
                "--data",
                "sprites",
                "--model",
                "metric-encoder",
                "--loss",
                "mse",
            ),
            "--loss needs autoencoders; got MetricEncoder",
        ),
        (
            (
                "train",
                "--out",
                "run",
                "--data",
                "sprites",
                "--model",
                "info-wgan-gp",
                "--standardise",
            ),
            "--standardise needs autoencoders; got InfoWGANGP",
        ),
        (
            ("train", "--out", "run", "--data", "sprites", "--supervision", "perceived"),
            "--supervision needs models of triplets; got BetaVAE",
        ),
        (("encode", "run", "--out", "z.npy"), "--out must end in .npz; got z.npy"),
        (("encode", "run", "--out", "z.npz"), "folder of a trained model; it has no config.json"),
        (("traverse", "run"), "folder of a trained model"),
    ],
)
def test_bad_input_ends_with_one_sentence(arguments, message, geodis, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = geodis(*arguments)
    assert code == 2 and message in err and len(err.strip().splitlines()) == 1


def test_scores_to_watch_need_factors_and_images_a_shape(geodis, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((6, 4)))
    np.save(tmp_path / "line.npy", np.zeros(6))
    train = ["train", "--out", tmp_path / "run", "--model", "vae", "--quiet", "--images"]
    code, _, err = geodis(*train, tmp_path / "x.npy", "--watch", "mig")
    assert code == 2 and "Scores need images with their factors" in err
    code, _, err = geodis(*train, tmp_path / "line.npy")
    assert code == 2 and "--images must have shape (n, h, w, c), (n, h, w), or (n, d)" in err


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("tvae", "TVAE needs --factors with --images, or --supervision perceived"),
        ("ada-gvae", "AdaGVAE needs --factors with --images; got none."),
        ("metric-encoder", "MetricEncoder needs --factors with --images; got none."),
    ],
)
def test_factors_are_asked_for_where_they_are_needed(model, message, geodis, images):
    train = ["train", "--images", images / "x.npy", "--model", model, "--out", images / "run"]
    code, _, err = geodis(*train, "--steps", 2, "--quiet")
    assert code == 2 and message in err and not (images / "run").exists()


def test_a_run_that_was_stopped_says_how_it_goes_on(geodis, images, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    start(geodis, images, "--model", "vae", "--steps", 2)
    for name in ("config.json", "model.safetensors"):
        (images / "run" / name).unlink()
    monkeypatch.setattr("geodis.models.training.training_run.take_step", stop)
    code, _, err = start(geodis, images, "--model", "vae", "--steps", 4)
    assert code == 130 and "keeps what is done; the same command continues from there" in err
    code, _, err = geodis("encode", images / "run", "--out", images / "z.npz")
    assert code == 2 and "its training was stopped: let it go on first" in err


def test_learnt_exponents_stand_beside_the_published_ones(geodis, images):
    isa = ("--model", "isa-vae", "--set", "learn=subspaces", "--latents", 8)
    code, out, err = start(geodis, images, *isa, "--watch-every", 2)
    assert (code, err) == (0, "")
    history = json.loads((images / "run" / "history.json").read_text())
    rows = [row for row in history if "exponent 1" in row]
    assert [row["step"] for row in rows] == [2, 4]
    learnt = [rows[-1]["exponent 1"], rows[-1]["exponent 2"]]
    assert learnt == sorted(load_model(images / "run").prior.exponents[:2].tolist()) != [2.0, 2.0]
    line = next(each for each in out.splitlines() if each.startswith("Learnt exponents"))
    own = ", ".join(f"{value:.3g}" for value in learnt)
    assert f"sorted: {own}. Published" in line and "1.95, 1.98, 2.17 (seed 002" in line
    config = json.loads((images / "run" / "config.json").read_text())
    assert config["learnt_exponents"] == learnt
    code, out, _ = start(geodis, images, *isa, "--watch-every", 2, "--json")
    told = json.loads(out)
    assert told["learnt_exponents"] == learnt and told["published_exponents"] == [1.95, 1.98, 2.17]


def test_a_run_without_learnt_exponents_says_nothing_of_them(geodis, images):
    code, out, _ = start(geodis, images, "--model", "isa-vae", "--latents", 4)
    assert code == 0 and "xponents" not in out
    assert "exponent 1" not in (images / "run" / "history.json").read_text()


def test_the_parts_of_the_divergence_are_followed(geodis, images):
    code, _, err = start(geodis, images, "--model", "vae", "--divergence", "--watch-every", 2)
    assert (code, err) == (0, "")
    last = json.loads((images / "run" / "history.json").read_text())[-1]
    assert last["divergence information ceiling"] == pytest.approx(np.log(20))
    assert {"divergence information", "divergence total correlation"} < set(last)
    other = ("--model", "ae", "--out", images / "other")
    code, _, err = start(geodis, images, *other, "--divergence")
    assert code == 2 and "parts where codes are noisy and the prior has a density; got AE" in err


def test_a_run_ends_when_a_term_or_a_score_is_not_better(geodis, images):
    stop = ("--stop", "score mig", "--patience", 1, "--watch", "mig", "--watch-every", 2)
    slow = ("--model", "vae", "--learning-rate", 1e-12)
    code, out, err = start(geodis, images, *slow, *stop, "--steps", 90)
    assert (code, err) == (0, "") and "VAE: 4 steps" in out
    assert "stopped early, of 90 steps" in out


def test_what_is_better_is_known_of_scores_and_terms():
    callbacks = {"score": None, "divergence": None}
    for name, better, average in [
        ("score mig", "higher", 1),
        ("score gaussian_total_correlation", "lower", 1),
        ("divergence total correlation", "lower", 1),
        ("reconstruction", "lower", 10),
    ]:
        stop = stopping(name, 7, callbacks)
        assert (stop.name, stop.patience, stop.better) == (name, 7, better)
        assert stop.average == average


def test_settings_are_read_as_what_they_are():
    settings = settings_of(["beta=4", "shared-weight=0.5", "hard=False", "deltas=absolute"])
    assert settings == {"beta": 4, "shared_weight": 0.5, "hard": False, "deltas": "absolute"}


def test_losses_have_names(tmp_path):
    assert loss_named("bernoulli") == "bernoulli"
    assert loss_named("box:3").radius == 3 and loss_named("gaussian:4").radius == 4
    save_kernel(LossKernel.box(2), tmp_path / "kernel.safetensors")
    assert loss_named(str(tmp_path / "kernel.safetensors")).alpha == 25
    with pytest.raises(InputError, match="box:RADIUS"):
        loss_named("box:wide")


@pytest.mark.parametrize("command", ["train", "encode", "traverse"])
def test_help_has_examples(command, geodis):
    code, out, _ = geodis(command, "--help")
    assert code == 0 and f"geodis {command}" in out and "Examples" in out


def test_kinds_and_periods_go_from_files_through_a_run_to_its_latents(geodis, tmp_path):
    rows = [(shape, angle) for shape in ("dot", "box") for angle in (0, 90, 180, 270)]
    table = pd.DataFrame(rows, columns=["shape", "angle"])
    table.to_csv(tmp_path / "f.csv", index=False)
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((8, 8, 8)))
    factors = ("--factors", tmp_path / "f.csv", "--period", "angle=360")
    short = ("--model", "vae", "--steps", 2, "--batch-size", 4, "--latents", 2, "--quiet")
    run = tmp_path / "run"
    code, _, err = geodis("train", "--images", tmp_path / "x.npy", *factors, *short, "--out", run)
    assert (code, err) == (0, "")
    geodis("encode", run, "--out", tmp_path / "z.npz", "--quiet")
    known = load_factors(f"{tmp_path / 'z.npz'}:factors")
    assert known.kinds == ("labels", "cyclic") and known.periods == {"angle": 4}
    assert known.categories == {"shape": ("box", "dot")}
