"""`geodis train`: train a model on a grid or on the user's images."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from geodis import __version__
from geodis.base.check import InputError
from geodis.commands.options import CommonOptions, DataSource, DeviceOption, open_data, option
from geodis.commands.output import OutputFolder, say, tell
from geodis.commands.trained_models import settings_of

if TYPE_CHECKING:
    import numpy as np

    from geodis.data.grids.grid import FactorGrid
    from geodis.models import EarlyStopping, Model, RunLogger, Training

FILES = {
    "model.safetensors": "weights",
    "config.json": "the model, its settings, data and versions",
    "checkpoint.safetensors": "state to continue from: the same command with more steps",
    "checkpoint-older.safetensors": "the state before",
    "checkpoint-damaged.safetensors": "a state that could not be read",
    "history.json": "every term of the loss, and scores, by step",
    "history.csv": "every term of the loss, written during training",
    "training.png": "the same as a picture",
}

# Options of training that have the same name in `TrainOptions`.
PASSED_ON = (
    *("category", "precision", "horizon"),
    *("adversary_learning_rate", "prior_learning_rate"),
)


@dataclass(frozen=True)
class TrainingSource(DataSource):
    """Images or rows to learn from, and their factors if pairs or triplets are made of them."""

    images: str | None = option(None, "Your own images (n, h, w, c) or rows (n, d).")
    factors: str | None = option(None, "Factors of the same rows, for pairs and triplets.")


@dataclass(frozen=True)
class ModelOptions:
    """What is trained."""

    out: Path = option(..., "Folder to write to, or to continue from.")
    model: str = option(
        "beta-vae", "vae, beta-vae, ada-gvae, tvae, ada-tvae, isa-vae, metric-encoder, ..."
    )
    steps: int = option(5000, "Total number of steps.", min=1)
    latents: int | None = option(
        None, "Number of latents.", min=1, show_default="the model's, mostly 10"
    )
    loss: str | None = option(
        None,
        "mse, bernoulli, box:31, gaussian:31, or the file of a learnt kernel.",
        show_default="mse",
    )
    settings: list[str] | None = option(
        None, "A setting of the model, such as beta=0.01; repeatable.", "--set"
    )
    normalise: str | None = option(
        None, "Normalisation of the loss: sum over pixels and latents, or mean.", show_default="sum"
    )
    standardise: bool = option(
        False, "Standardise channels to mean 0 and deviation 1.", "--standardise"
    )


@dataclass(frozen=True)
class TrainingChoices:
    """How it is trained, and what is recorded."""

    supervision: str | None = option(
        None,
        "What orders triplets: scaled, factors, perceived, differing or category.",
        show_default="scaled",
    )
    category: str | None = option(None, "The factor that --supervision category uses.")
    batch_size: int = option(256, "Rows, pairs or triplets per batch.", min=2)
    learning_rate: float | None = option(
        None, "Learning rate of Adam.", min=0, show_default="the model's, mostly 1e-3"
    )
    adversary_learning_rate: float = option(
        1e-4, "Learning rate of the second player of adversarial models.", min=0
    )
    prior_learning_rate: float = option(
        5e-4, "Learning rate of the parameters of a prior, such as exponents.", min=0
    )
    horizon: int | None = option(
        None, "Number of steps over which schedules run.", min=1, show_default="--steps"
    )
    watch: list[str] | None = option(None, "A score to record, such as mig; repeatable.")
    divergence: bool = option(
        False, "Record the parts of the divergence: total correlation, ...", "--divergence"
    )
    stop: str | None = option(
        None,
        'Stop when this has not improved for --patience steps: kl, "score mig", ...',
        show_default=False,
    )
    patience: int = option(1000, "Steps for --stop.", min=1)
    log: list[str] | None = option(
        None, "Write the history during training: csv or tensorboard; repeatable."
    )
    watch_every: int = option(500, "Steps between scores, parts and learnt exponents.", min=1)
    device: DeviceOption = "auto"
    precision: str = option("auto", "auto, float32 or bfloat16.")


def train_command(
    built: ModelOptions, source: TrainingSource, training: TrainingChoices, common: CommonOptions
) -> None:
    """Train a model whose latents geodis can analyse; Ctrl-C keeps the state reached.

    The same command continues from the folder. With more --steps it trains longer, with the same
    result as a single longer training. Changed options that would change the numbers are refused.
    Learnt exponents of a prior are printed with the published ones.

    Examples: `geodis train --data xysquares --model ada-tvae --steps 5000 --out run`,
    `geodis train --images X.npy --factors f.csv --model tvae --set beta=0.01 --out run`
    """
    from geodis.models import model_named

    kind, out = model_named(built.model), built.out
    refuse_options_of_other_models(kind, built, training)
    folder = OutputFolder(out, FILES, begun=is_begun(out))
    rows = open_data(source, common.quiet)
    untrained = build_model(kind, rows, built, common.seed)
    require_factors(untrained, rows, training.supervision)
    with folder:
        if "csv" in (training.log or ()):
            folder.path("history.csv")
        done = run_training(untrained, rows, built, training, common)
        text, values = exponents_of(untrained)
        write_run(folder, done, source, values)
    results = {"out": str(out), **values, "history": done.history}
    say(f"{kind.__name__}: {done}{text}", results, common.as_json)
    folder.list_files(common.as_json)


def is_begun(out: Path) -> bool:
    """Return whether a folder holds a run, whose files training may replace."""
    from geodis.base.safetensors_files import read_note
    from geodis.models.saving import CHECKPOINT, OLDER_CHECKPOINT, read_config
    from geodis.models.training.during import HEADER

    for name in (CHECKPOINT, OLDER_CHECKPOINT):
        with suppress(InputError):
            if {"steps", "history", "run", "horizon_named"} <= set(read_note(out / name)):
                return True
    with suppress(InputError):
        training = read_config(out).get("training")
        return isinstance(training, dict) and "identity" in training
    # A run that was killed before its first checkpoint leaves only its log.
    if [name for name in FILES if (out / name).exists()] != ["history.csv"]:
        return False
    with suppress(OSError, UnicodeDecodeError), (out / "history.csv").open(encoding="utf-8") as log:
        return log.readline().strip() == ",".join(HEADER)
    return False


def refuse_options_of_other_models(
    kind: type[Model], built: ModelOptions, training: TrainingChoices
) -> None:
    """Refuse options of other kinds of models."""
    from geodis.models import Autoencoder

    options = [("--supervision", training.supervision, "models of triplets", kind.groups == 3)]
    for name in ("loss", "normalise", "standardise"):
        value = getattr(built, name) or None
        options.append((f"--{name}", value, "autoencoders", issubclass(kind, Autoencoder)))
    for option_name, value, owners, fits in options:
        if value is not None and not fits:
            raise InputError(f"{option_name} needs {owners}; got {kind.__name__}.")


def build_model(
    kind: type[Model], rows: FactorGrid | np.ndarray, built: ModelOptions, seed: int
) -> Model:
    """Make an untrained model of the kind, with the given options."""
    from geodis.models import Autoencoder, channel_moments
    from geodis.models.saving import loss_named

    options: dict[str, Any] = settings_of(built.settings)
    if built.latents is not None:
        options["latents"] = built.latents
    if issubclass(kind, Autoencoder):
        options["loss"] = loss_named(built.loss or "mse", "--loss")
        options["normalise"] = built.normalise or "sum"
        if built.standardise:
            options["standardise"] = channel_moments(rows)
    make: Callable[..., Model] = kind  # every kind takes options of its own
    return make(shape_of(rows), random_state=seed, **options)


def require_factors(model: Model, rows: FactorGrid | np.ndarray, supervision: str | None) -> None:
    """Require factors for models of pairs, triplets or labels."""
    perceived = model.groups == 3 and supervision == "perceived"
    if hasattr(rows, "image_shape") or perceived or not (model.groups > 1 or model.labelled):
        return
    other = ", or --supervision perceived" if model.groups == 3 else ""
    raise InputError(f"{type(model).__name__} needs --factors with --images{other}; got none.")


def shape_of(rows: FactorGrid | np.ndarray) -> Any:
    """Return a model's input: the grid itself, or (channels, height, width) or (columns,)."""
    from geodis.data.grids.grid import FactorGrid

    if isinstance(rows, FactorGrid):
        return rows
    if rows.ndim == 2:
        return (rows.shape[1],)
    if rows.ndim not in (3, 4):
        raise InputError(
            "--images must have shape (n, h, w, c), (n, h, w), or (n, d) for rows; "
            f"got shape {rows.shape}."
        )
    height, width = rows.shape[1:3]
    return (rows.shape[3] if rows.ndim == 4 else 1, height, width)


def run_training(
    model: Model, rows: Any, built: ModelOptions, training: TrainingChoices, common: CommonOptions
) -> Training:
    """Train, or continue from the checkpoint in the folder."""
    from geodis.models import TrainOptions, train
    from geodis.models.saving import CHECKPOINT

    out, device = built.out, cast(Any, training.device)
    callbacks = watched(model, rows, training, common.seed)
    choices: dict[str, Any] = {
        **{name: getattr(training, name) for name in PASSED_ON},
        "supervision": training.supervision or "scaled",
        "callback_every": training.watch_every,
        "callbacks": callbacks,
        "loggers": [logger_named(name, out) for name in training.log or ()],
    }
    if training.stop is not None:
        choices["stop_when"] = stopping(training.stop, training.patience, callbacks)
    try:
        return train(
            model,
            rows,
            built.steps,
            batch_size=training.batch_size,
            learning_rate=training.learning_rate,
            device=device,
            checkpoint=out,
            options=TrainOptions(**choices),
            **common.settings(),
        )
    except KeyboardInterrupt:
        if (out / CHECKPOINT).exists():
            tell(f"{out} keeps what is done; the same command continues from there.", error=True)
        raise


def watched(model: Model, rows: Any, training: TrainingChoices, seed: int) -> dict[str, Any]:
    """Return callbacks that record scores, divergences and exponents, by name."""
    from geodis.models import divergence_during, learnt_exponents, score_during
    from geodis.models.training.during import require_parts

    callbacks: dict[str, Any] = {}
    if training.watch:
        callbacks["score"] = score_during(rows, training.watch, random_state=seed)
    if training.divergence:
        require_parts(model)
        callbacks["divergence"] = divergence_during(rows, random_state=seed)
    if learnt_exponents(model):
        callbacks["exponent"] = learnt_exponents
    return callbacks


def stopping(name: str, patience: int, callbacks: Mapping[str, Any]) -> EarlyStopping:
    """Make an early-stopping rule: losses should fall, and scores follow their cards."""
    from geodis.models import EarlyStopping
    from geodis.scores.registry import entries

    seldom = any(name.startswith(f"{each} ") for each in callbacks)
    rising = {f"score {entry.name}" for entry in entries() if not entry.lower_is_better}
    better = "higher" if name in rising else "lower"
    return EarlyStopping(name, patience, better=better, average=1 if seldom else 10)


def exponents_of(model: Model) -> tuple[str, dict[str, list[float]]]:
    """Return learnt exponents of a prior with the published ones, as text and values."""
    from geodis.models import learnt_exponents
    from geodis.models.priors import PUBLISHED_EXPONENTS

    learnt = list(learnt_exponents(model).values())
    if not learnt:
        return "", {}
    own, published = (
        ", ".join(f"{value:.3g}" for value in each) for each in (learnt, PUBLISHED_EXPONENTS)
    )
    text = (
        f"\nLearnt exponents, sorted: {own}. Published, the most frequent ones of three subspaces "
        f"on 3D faces: {published} (seed 002, appendix A.2)."
    )
    return text, {"learnt_exponents": learnt, "published_exponents": list(PUBLISHED_EXPONENTS)}


def logger_named(name: str, out: Path) -> RunLogger:
    """Return the logger of this name, which writes into the folder of the run."""
    from geodis.models import CSVLogger, TensorBoardLogger

    if name not in ("csv", "tensorboard"):
        raise InputError(f"--log must be csv or tensorboard; got {name}.")
    return CSVLogger(out / "history.csv") if name == "csv" else TensorBoardLogger(out / name)


def write_run(
    folder: OutputFolder, done: Training, source: DataSource, values: Mapping[str, Any]
) -> None:
    """Add the data, command and other values to the files written by training."""
    from geodis import plots
    from geodis.models.saving import CHECKPOINT, CONFIG, WEIGHTS, read_config

    folder.path(WEIGHTS)
    command = " ".join(["geodis", *sys.argv[1:]])
    made_of = {"data": source.given(), "command": command, "geodis": __version__}
    folder.write_json(CONFIG, {**read_config(folder.folder), **made_of, **values})
    folder.path(CHECKPOINT)
    folder.write_json("history.json", done.history)
    folder.save_figure("training.png", plots.plot_training(done))
