"""What a Dataset and a DataLoader are set to, by name, beside the items that they give."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler, TensorDataset

from geodis.models.training.state.code_fingerprints import code_fingerprint
from geodis.models.training.state.digests import array_piece, digest_of, tensor_pieces
from geodis.models.training.state.plain_attributes import PLAIN, attributes_of, is_plain

# What DataLoaders and samplers call of what they are given: what these set is state.
ASKED = ("__getitem__", "__getitems__", "__iter__", "__len__")
# Longer texts than this are told by a digest.
LONGEST = 60


def dataset_settings(data: Any) -> dict[str, str]:
    """Code and settings of a Dataset, and of how a DataLoader goes through it, as texts by name.

    Numbers, words and the like that a Dataset was given count, and those of Datasets within it; of
    samplers tensors, arrays and seeds too. Left out are paths, which say where data lie and not
    what they are, and lists and dicts of the user's own, which may fill as items are asked for.

    Parameters
    ----------
    data : torch Dataset or DataLoader
        Of other data, and of a TensorDataset, which is told by its rows, there are none.

    Examples
    --------
    >>> class Noisy(Dataset):
    ...     def __init__(self, noise):
    ...         self.noise = noise
    >>> dataset_settings(Noisy(0.1))["noise"]
    '0.1'
    """
    told: dict[str, str] = {}
    seen: set[int] = set()
    loader = data if isinstance(data, DataLoader) else None
    dataset = data if loader is None else loader.dataset
    if isinstance(dataset, Dataset):
        told |= _entries(dataset, "", seen)
    if loader is not None:
        told |= _entries(loader.sampler, "sampler.", seen)
        if loader.batch_sampler is not None:
            told |= _entries(loader.batch_sampler, "batch_sampler.", seen)
    return told


def _entries(thing: Any, prefix: str, seen: set[int]) -> Iterator[tuple[str, str]]:
    if id(thing) in seen or type(thing) is TensorDataset:
        return
    seen.add(id(thing))
    yield f"{prefix}code", code_fingerprint(type(thing))
    for name, value in attributes_of(thing, ASKED).items():
        within = value if isinstance(value, list | tuple) else [value]
        parts = [part for part in within if isinstance(part, Dataset | Sampler)]
        for number, part in enumerate(parts):
            count = f"{number}." if len(within) > 1 else ""
            yield from _entries(part, f"{prefix}{name}.{count}", seen)
        if not parts and (text := _text(thing, value)) is not None:
            yield f"{prefix}{name}", text


def _text(thing: Any, value: Any) -> str | None:
    """A value that says what a thing is set to, as a text; None of others."""
    if isinstance(value, torch.Generator):
        return f"seed {value.initial_seed()}"
    if isinstance(value, Tensor | np.ndarray) and isinstance(thing, Dataset):
        return None  # its items say what it holds
    if isinstance(value, Tensor):
        return digest_of(tensor_pieces({"": value}))
    if isinstance(value, np.ndarray):
        return digest_of([array_piece(value)])
    # Nothing fills the list of a Subset, say.
    of_torch = type(thing).__module__.startswith("torch.")
    kinds = (*PLAIN, tuple, list) if of_torch else (*PLAIN, tuple)
    unset = value is None  # another version of torch may have more that is not set
    if unset or not isinstance(value, kinds) or not is_plain(value) or _is_path(value):
        return None
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= LONGEST else digest_of([text.encode()])


def _is_path(value: Any) -> bool:
    return isinstance(value, PurePath) or (isinstance(value, str) and os.sep in value)
