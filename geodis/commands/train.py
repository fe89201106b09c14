"""`geodis train`: train a model on a grid or on images of your own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from geodis import __version__
from geodis.base.check import InputError
from geodis.base.write import write_json
from geodis.commands.shared.data_source import DataSource, open_data
from geodis.commands.shared.options import CommonOptions, DeviceOption
from geodis.commands.shared.output import OutputFolder, say, tell
from geodis.commands.shared.runs import settings_of

if TYPE_CHECKING:
    import numpy as np

    from geodis.data.grids.grid import FactorGrid
    from geodis.models import EarlyStopping, Model, RunLogger, Training

NAMES = (
    "model.safetensors", "config.json", "checkpoint.safetensors", "checkpoint-older.safetensors",
    "checkpoint-damaged.safetensors", "history.json", "history.csv", "training.png",
)  # fmt: skip


@dataclass(frozen=True)
class TrainingSource(DataSource):
    """Images or rows to learn from, and their factors where groups are made of them."""

    images: Annotated[
        str | None, typer.Option(help="Images (n, h, w, c) or rows (n, d) of your own.")
    ] = None
    factors: Annotated[
        str | None, typer.Option(help="Factors of the same rows, for pairs and triplets.")
    ] = None


@dataclass(frozen=True)
class WhatIsBuilt:
    """What is built."""

    latents: Annotated[
        int | None, typer.Option(min=1, help="Latents.", show_default="the model's, mostly 10")
    ] = None
    loss: Annotated[
        str | None,
        typer.Option(
            help="mse, bernoulli, box:31, gaussian:31, or a learnt kernel's file.",
            show_default="mse",
        ),
    ] = None
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of the model, such as beta=0.01; may be repeated."),
    ] = None
    normalise: Annotated[
        str | None,
        typer.Option(
            help="Of the loss: sum over pixels and latents, or mean, beta normalisation.",
            show_default="sum",
        ),
    ] = None
    standardise: Annotated[
        bool, typer.Option("--standardise", help="Give channels mean 0 and deviation 1.")
    ] = False


@dataclass(frozen=True)
class HowItIsTrained:
    """How it is trained, and what is watched meanwhile."""

    supervision: Annotated[
        str | None,
        typer.Option(
            help="What orders triplets: scaled, factors, perceived, differing or category.",
            show_default="scaled",
        ),
    ] = None
    category: Annotated[
        str | None, typer.Option(help="The factor that --supervision category looks at.")
    ] = None
    batch_size: Annotated[int, typer.Option(min=2, help="Rows, pairs or triplets.")] = 256
    learning_rate: Annotated[
        float | None, typer.Option(min=0, help="Of Adam.", show_default="the model's, mostly 1e-3")
    ] = None
    adversary_learning_rate: Annotated[
        float, typer.Option(min=0, help="Of the second player of adversarial models.")
    ] = 1e-4
    prior_learning_rate: Annotated[
        float, typer.Option(min=0, help="Of what a prior learns, such as exponents.")
    ] = 5e-4
    horizon: Annotated[
        int | None,
        typer.Option(min=1, help="Steps that schedules run over.", show_default="--steps"),
    ] = None
    watch: Annotated[
        list[str] | None,
        typer.Option("--watch", help="A score to follow, such as mig; may be repeated."),
    ] = None
    divergence: Annotated[
        bool,
        typer.Option(
            "--divergence", help="Follow the parts of the divergence: total correlation, ..."
        ),
    ] = False
    stop: Annotated[
        str | None,
        typer.Option(
            help='End when this is not better for --patience steps: kl, "score mig", ...',
            show_default=False,
        ),
    ] = None
    patience: Annotated[int, typer.Option(min=1, help="Steps, of --stop.")] = 1000
    log: Annotated[
        list[str] | None,
        typer.Option(help="Write the history as it comes: csv or tensorboard; may be repeated."),
    ] = None
    watch_every: Annotated[
        int, typer.Option(min=1, help="Steps between scores, parts and learnt exponents.")
    ] = 500
    device: DeviceOption = "auto"
    precision: Annotated[str, typer.Option(help="auto, float32 or bfloat16.")] = "auto"


def train_command(
    *,
    out: Annotated[Path, typer.Option(help="Folder to write to, or to go on from.")],
    model: Annotated[
        str,
        typer.Option(help="vae, beta-vae, ada-gvae, tvae, ada-tvae, isa-vae, metric-encoder, ..."),
    ] = "beta-vae",
    source: TrainingSource,
    steps: Annotated[int, typer.Option(min=1, help="Steps in all.")] = 5000,
    built: WhatIsBuilt,
    training: HowItIsTrained,
    common: CommonOptions,
) -> None:
    """Train a model whose latents geodis can analyse; Ctrl-C keeps what is done.

    The same command goes on from the folder, and with more --steps trains on, to what training
    that long at once would have given; another value of what changes numbers is refused by its
    name. Learnt exponents of a prior are printed beside the published ones.

    Examples: `geodis train --data xysquares --model ada-tvae --steps 5000 --out run`,
    `geodis train --images X.npy --factors f.csv --model tvae --set beta=0.01 --out run`
    """
    from geodis.models import model_named

    kind = model_named(model)
    refuse_options_of_other_models(kind, built, training)
    folder = OutputFolder(out, () if is_begun(out) else NAMES)
    rows = open_data(source, common.quiet)
    untrained = build_model(kind, rows, built, common.seed)
    require_factors(untrained, rows, training.supervision)
    with folder:
        if "csv" in (training.log or ()):
            folder.path("history.csv", "every term of the loss, written as it came")
        done = run_training(untrained, rows, steps, out, training, common)
        text, values = exponents_of(untrained)
        write_run(folder, done, source, values)
    told = {"out": str(out), **values, "history": done.history}
    say(f"{kind.__name__}: {done}{text}", told, common.as_json)
    if not common.as_json:
        folder.list_files()


def is_begun(out: Path) -> bool:
    """Whether a folder is of a run: what training wrote there, it may replace."""
    from geodis.base.tensors import read_note
    from geodis.models.saving import CHECKPOINT, OLDER_CHECKPOINT, read_config
    from geodis.models.training.run_loggers import HEADER

    for name in (CHECKPOINT, OLDER_CHECKPOINT):
        with suppress(InputError):
            if {"config", "steps", "history", "run"} <= set(read_note(out / name)):
                return True
    with suppress(InputError):
        told = read_config(out).get("training")
        return isinstance(told, dict) and "identity" in told
    # A run that was killed before its first checkpoint leaves its log alone.
    if [name for name in NAMES if (out / name).exists()] != ["history.csv"]:
        return False
    with suppress(OSError, UnicodeDecodeError), (out / "history.csv").open(encoding="utf-8") as log:
        return log.readline().strip() == ",".join(HEADER)
    return False


def refuse_options_of_other_models(
    kind: type[Model], built: WhatIsBuilt, training: HowItIsTrained
) -> None:
    """Say which option belongs to other models than the one that is asked for."""
    from geodis.models import Autoencoder

    own = {"--loss": built.loss, "--normalise": built.normalise}
    own["--standardise"] = "" if built.standardise else None
    refuse(kind, own, "autoencoders", issubclass(kind, Autoencoder))
    supervision = {"--supervision": training.supervision}
    refuse(kind, supervision, "models of triplets", kind.groups == 3)


def refuse(kind: type, options: dict[str, str | None], owners: str, fits: bool) -> None:
    """Refuse the options that are given, unless the kind of model takes them."""
    given = [name for name, value in options.items() if value is not None]
    if given and not fits:
        raise InputError(f"{given[0]} belongs to {owners}; got it with {kind.__name__}.")


def build_model(
    kind: type[Model], rows: FactorGrid | np.ndarray, built: WhatIsBuilt, seed: int
) -> Model:
    """An untrained model of the kind, with the options that are given."""
    from geodis.models import Autoencoder, channel_moments
    from geodis.models.loss_names import loss_named

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
    """Say that pairs, triplets and labels are made of factors, where there are only images."""
    perceived = model.groups == 3 and supervision == "perceived"
    if hasattr(rows, "image_shape") or perceived or not (model.groups > 1 or model.labelled):
        return
    other = ", or --supervision perceived" if model.groups == 3 else ""
    raise InputError(f"{type(model).__name__} needs --factors beside --images{other}; got none.")


def shape_of(rows: FactorGrid | np.ndarray) -> Any:
    """What a model has to take: a grid itself, or (channels, height, width) or (columns,)."""
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
    model: Model,
    rows: Any,
    steps: int,
    out: Path,
    training: HowItIsTrained,
    common: CommonOptions,
) -> Training:
    """Train, or go on from the checkpoint in the folder."""
    from geodis.models import TrainOptions, train
    from geodis.models.saving import CHECKPOINT

    choices: dict[str, Any] = {
        "supervision": training.supervision or "scaled",
        "category": training.category,
        "adversary_learning_rate": training.adversary_learning_rate,
        "prior_learning_rate": training.prior_learning_rate,
        "precision": training.precision,
        "horizon": training.horizon,
        "callback_every": training.watch_every,
    }
    choices["loggers"] = [logger_named(name, out) for name in training.log or ()]
    choices["callbacks"] = watched(model, rows, training, common.seed)
    if training.stop is not None:
        choices["stop_when"] = stopping(training.stop, training.patience, choices["callbacks"])
    settings: dict[str, Any] = {
        "device": training.device,
        "checkpoint": out,
        "random_state": common.seed,
        "verbose": common.verbose,
    }
    try:
        return train(
            model,
            rows,
            steps,
            batch_size=training.batch_size,
            learning_rate=training.learning_rate,
            options=TrainOptions(**choices),
            **settings,
        )
    except KeyboardInterrupt:
        if (out / CHECKPOINT).exists():
            tell(f"{out} keeps what is done; the same command goes on from it.", error=True)
        raise


def watched(model: Model, rows: Any, training: HowItIsTrained, seed: int) -> dict[str, Any]:
    """What is followed beside the terms of the loss: callbacks by name."""
    from geodis.models import divergence_during, learnt_exponents, score_during
    from geodis.models.training.divergence_during import require_parts

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
    """Early stopping: terms are better where they are lower, scores as their cards say."""
    from geodis.models import EarlyStopping
    from geodis.scores.registry import entries

    seldom = any(name.startswith(f"{each} ") for each in callbacks)
    rising = {f"score {entry.name}" for entry in entries() if not entry.lower_is_better}
    better = "higher" if name in rising else "lower"
    return EarlyStopping(name, patience, better=better, average=1 if seldom else 10)


def exponents_of(model: Model) -> tuple[str, dict[str, list[float]]]:
    """Exponents that were learnt beside the published ones: a line of text, and values."""
    from geodis.models import learnt_exponents
    from geodis.models.lp_nested_prior import PUBLISHED_EXPONENTS

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
    """A logger by its name on the command line, which writes into the folder of the run."""
    from geodis.models import CSVLogger, TensorBoardLogger

    if name not in ("csv", "tensorboard"):
        raise InputError(f"--log must be csv or tensorboard; got {name}.")
    return CSVLogger(out / "history.csv") if name == "csv" else TensorBoardLogger(out / name)


def write_run(
    folder: OutputFolder, done: Training, source: DataSource, values: Mapping[str, Any]
) -> None:
    """Add what the run was made of, and other values, to what training wrote itself."""
    from geodis import plots
    from geodis.models.saving import CHECKPOINT, CONFIG, WEIGHTS, read_config

    folder.path(WEIGHTS, "weights")
    command = " ".join(["geodis", *sys.argv[1:]])
    made_of = {"data": source.given(), "command": command, "geodis": __version__}
    config = {**read_config(folder.folder), **made_of, **values}
    write_json(folder.path(CONFIG, "the model, its settings, data and versions"), config)
    folder.path(CHECKPOINT, "state to go on from: the same command with more steps")
    history = folder.path("history.json", "every term of the loss, and scores, by step")
    write_json(history, done.history)
    picture = folder.path("training.png", "the same as a picture")
    plots.save_figure(plots.plot_training(done), picture)
