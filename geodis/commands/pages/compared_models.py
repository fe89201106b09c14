"""Trained models to compare: the latents of the same images from each of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from geodis.base.check import InputError

if TYPE_CHECKING:
    import numpy as np

    from geodis.commands.shared.options import CommonOptions
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
    """Map the name of every trained run to its folder and model.

    A folder is a run, or holds one run per seed. Empty if other things are given.
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
    """The shortest endings of the paths that all differ.

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
    runs: dict[str, tuple[Path, str]], images: str | None, max_points: int, common: CommonOptions
) -> EncodedRuns:
    """Encode the same images by every model: those given, or those the first was trained on."""
    from dataclasses import replace

    from geodis.commands.shared.runs import data_of, images_at, open_model, sampled_rows
    from geodis.data.files.load import load_array
    from geodis.data.grids.grid import FactorGrid
    from geodis.models import encode

    folders = [folder for folder, _ in runs.values()]
    rows = data_of(folders[0], common.quiet) if images is None else load_array(images)
    index = sampled_rows(len(rows), max_points, common.seed)
    seen, factors = images_at(rows, index), None
    if isinstance(rows, FactorGrid):
        factors = replace(rows.known_factors(index), values=rows.factors(index))
    latents = {
        name: encode(open_model(folder), seen, verbose=common.verbose)
        for name, (folder, _) in runs.items()
    }
    return EncodedRuns(latents, [model for _, model in runs.values()], factors, seen)
