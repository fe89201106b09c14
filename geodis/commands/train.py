"""`geodis train`: train a model on a grid or on images of your own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from geodis import __version__
from geodis.base.check import InputError
from geodis.base.write import write_json
from geodis.commands._data import open_data
from geodis.commands._models import loss_named, settings_of
from geodis.commands._shared import AsJson, Quiet, Seed, list_files, say

TRAIN_FILES = {
    "model.safetensors": "weights",
    "config.json": "the model, its settings, data and versions",
    "checkpoint.safetensors": "state to go on from: the same command with more steps",
    "history.json": "every term of the loss, and scores, by step",
    "training.png": "the same as a picture",
}


def train(
    out: Annotated[Path, typer.Option(help="Folder to write to, or to go on from.")],
    model: Annotated[
        str,
        typer.Option(help="vae, beta-vae, ada-gvae, tvae, ada-tvae, isa-vae, metric-encoder, ..."),
    ] = "beta-vae",
    data: Annotated[
        str | None,
        typer.Option(help="xysquares, xyobject, sprites; with --path dsprites, shapes3d, ..."),
    ] = None,
    spacing: Annotated[int | None, typer.Option(min=1, help="Of xysquares.")] = None,
    path: Annotated[Path | None, typer.Option(help="File of a published data set.")] = None,
    images: Annotated[
        str | None, typer.Option(help="Images (n, h, w, c) or rows (n, d) of your own.")
    ] = None,
    factors: Annotated[
        str | None, typer.Option(help="Factors of the same rows, for pairs and triplets.")
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="Steps in all.")] = 5000,
    latents: Annotated[
        int | None, typer.Option(min=1, help="Latents.", show_default="the model's, mostly 10")
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help="mse, bernoulli, box:31, gaussian:31, or a learnt kernel's file.",
            show_default="mse",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of the model, such as beta=0.01; may be repeated."),
    ] = None,
    normalise: Annotated[
        str | None,
        typer.Option(
            help="Of the loss: sum over pixels and latents, or mean, beta normalisation.",
            show_default="sum",
        ),
    ] = None,
    standardise: Annotated[
        bool, typer.Option("--standardise", help="Give channels mean 0 and deviation 1.")
    ] = False,
    supervision: Annotated[
        str | None,
        typer.Option(
            help="What orders triplets: scaled, factors or perceived.", show_default="scaled"
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=2, help="Rows, pairs or triplets.")] = 256,
    learning_rate: Annotated[
        float | None, typer.Option(min=0, help="Of Adam.", show_default="the model's, mostly 1e-3")
    ] = None,
    watch: Annotated[
        list[str] | None,
        typer.Option("--watch", help="A score to follow, such as mig; may be repeated."),
    ] = None,
    watch_every: Annotated[int, typer.Option(min=1, help="Steps between scores.")] = 500,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    precision: Annotated[str, typer.Option(help="auto, float32 or bfloat16.")] = "auto",
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Train a model whose latents geodis can analyse; Ctrl-C keeps what is done.

    Examples: `geodis train --data xysquares --model ada-tvae --steps 5000 --out run`,
    `geodis train --images X.npy --factors f.csv --model tvae --set beta=0.01 --out run`
    """
    from geodis import plots
    from geodis.models import channel_moments, score_during
    from geodis.models import train as train_model
    from geodis.models.autoencoders import Autoencoder
    from geodis.models.saving import CHECKPOINT, CONFIG, model_named, read_config

    kind: Any = model_named(model)
    given = {"--loss": loss, "--normalise": normalise, "--standardise": standardise or None}
    refuse(kind, given, "autoencoders", issubclass(kind, Autoencoder))
    refuse(kind, {"--supervision": supervision}, "models of triplets", kind.groups == 3)
    source: dict[str, Any] = {
        "data": data,
        "spacing": spacing,
        "path": path and str(path),
        "images": images,
        "factors": factors,
    }
    source = {name: value for name, value in source.items() if value is not None}
    rows = open_data(source, quiet)
    options: dict[str, Any] = settings_of(settings)
    if latents is not None:
        options["latents"] = latents
    if issubclass(kind, Autoencoder):
        options |= {"loss": loss_named(loss or "mse"), "normalise": normalise or "sum"}
        if standardise:
            options["standardise"] = channel_moments(rows)
    built = kind(shape_of(rows), random_state=seed, **options)
    require_factors(built, rows, supervision)
    try:
        done = train_model(
            built,
            rows,
            steps,
            batch_size=batch_size,
            learning_rate=learning_rate,
            supervision=supervision or "scaled",
            device=device,
            precision=precision,
            checkpoint=out,
            callback_every=watch_every,
            random_state=seed,
            verbose=not quiet,
            callbacks={"score": score_during(rows, watch, random_state=seed)} if watch else None,
        )
    except KeyboardInterrupt:
        if (out / CHECKPOINT).exists():
            print(f"{out} keeps what is done; the same command goes on from it.", file=sys.stderr)
        raise
    command = " ".join(["geodis", *sys.argv[1:]])
    write_json(
        out / CONFIG,
        {**read_config(out), "data": source, "command": command, "geodis": __version__},
    )
    write_json(out / "history.json", done.history)
    plots.save_figure(plots.plot_training(done), out / "training.png")
    say(f"{kind.__name__}: {done}", {"out": str(out), "history": done.history}, as_json)
    if as_json:
        return
    list_files("Written", {out / name: text for name, text in TRAIN_FILES.items()})


def refuse(kind: type, given: dict[str, Any], owners: str, fits: bool) -> None:
    """Say which option belongs to other models than the one that came."""
    came = [name for name, value in given.items() if value is not None]
    if came and not fits:
        raise InputError(f"{came[0]} belongs to {owners}; it came with {kind.__name__}.")


def require_factors(model: Any, rows: Any, supervision: str | None) -> None:
    """Say that pairs, triplets and labels are made of factors, where only images came."""
    perceived = model.groups == 3 and supervision == "perceived"
    if hasattr(rows, "image_shape") or perceived or not (model.groups > 1 or model.labelled):
        return
    other = ", or --supervision perceived" if model.groups == 3 else ""
    raise InputError(f"{type(model).__name__} needs --factors beside --images{other}.")


def shape_of(rows: Any) -> Any:
    """What a model has to take: a grid itself, or (channels, height, width) or (columns,)."""
    if hasattr(rows, "image_shape"):
        return rows
    if rows.ndim == 2:
        return (rows.shape[1],)
    if rows.ndim not in (3, 4):
        raise InputError(
            "--images must have shape (n, h, w, c), (n, h, w), or (n, d) for rows; "
            f"shape {rows.shape} came."
        )
    height, width = rows.shape[1:3]
    return (rows.shape[3] if rows.ndim == 4 else 1, height, width)
