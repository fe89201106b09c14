"""Trained models that are compared: the latents of the same images by each of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from geodis.base.check import InputError, check_random_state

if TYPE_CHECKING:
    from geodis.data.factors import Factors

CONFIG = "config.json"  # what a folder of `geodis train` holds
TRAINED = ("model.safetensors", "checkpoint.safetensors")


class EncodedRuns(NamedTuple):
    """Latents of the same images, and what is known of these."""

    latents: dict[str, np.ndarray]
    models: list[str]
    factors: Factors | None
    images: Any


def trained_runs(given: list[str]) -> dict[str, tuple[Path, str]]:
    """Name -> folder and model of every trained run, where folders of such are given.

    A folder is a run, or holds a run for every seed. Nothing where other things are given.
    """
    found: list[tuple[Path, str]] = []
    others = []
    for text in given:
        path = Path(text)
        seeds = [path] if is_trained(path) else _runs_in(path)
        if not seeds:
            others.append(text)
        found += [(seed, "" if seed == path else path.resolve().name) for seed in seeds]
    if found and others:
        raise InputError(
            f"Runs to compare must all be trained models, or all files of latents; got "
            f"{', '.join(others)} beside models."
        )
    names = short_names([seed for seed, _ in found])
    return {name: (seed, model or name) for name, (seed, model) in zip(names, found, strict=True)}


def short_names(paths: list[Path]) -> list[str]:
    """As many of the last parts of each path as tell all apart, at least one.

    Examples
    --------
    >>> short_names([Path("a/0"), Path("b/0")]), short_names([Path("a/0"), Path("a/1")])
    (['a/0', 'b/0'], ['0', '1'])
    """
    whole = [path.resolve().parts for path in paths]
    for count in range(1, 1 + max(map(len, whole), default=0)):
        names = ["/".join(parts[-count:]) for parts in whole]
        if len(set(names)) == len(names):
            break
    return names if paths else []


def is_trained(path: Path) -> bool:
    """Whether a folder is what `geodis train` wrote."""
    return (path / CONFIG).is_file() and any((path / name).is_file() for name in TRAINED)


def _runs_in(path: Path) -> list[Path]:
    return sorted(one for one in path.iterdir() if is_trained(one)) if path.is_dir() else []


def encode_runs(
    runs: dict[str, tuple[Path, str]],
    images: str | None,
    *,
    max_points: int,
    seed: int,
    quiet: bool,
) -> EncodedRuns:
    """Encode the same images by every model: those that were given, or what the first was fed."""
    from dataclasses import replace

    from geodis.commands.shared.runs import data_of, open_model
    from geodis.data.files.load import load_array
    from geodis.data.grids.grid import FactorGrid
    from geodis.models import encode

    folders = [folder for folder, _ in runs.values()]
    rows = data_of(folders[0], quiet) if images is None else load_array(images)
    n = len(rows)
    index = np.arange(n)
    if n > max_points:
        index = np.sort(check_random_state(seed).choice(n, max_points, replace=False))
    factors = None
    if isinstance(rows, FactorGrid):
        factors = replace(rows.known_factors(index), values=rows.factors(index))
        seen = rows.images(index, "auto")
    else:
        seen = rows[index]
    latents = {
        name: encode(open_model(folder), seen, verbose=not quiet)
        for name, (folder, _) in runs.items()
    }
    return EncodedRuns(latents, [model for _, model in runs.values()], factors, seen)
