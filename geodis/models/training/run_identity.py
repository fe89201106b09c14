"""Identify a run by everything that affects its results, as plain values by name.

Settings, package versions, data and initial weights are identified by their values. User code is
identified by its qualified name, the settings it was built with and the version that the user
gives (`TrainOptions.version`, and `Model.revision` for a class of model); its source is not read.
"""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import PurePath
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from geodis import __version__
from geodis.base.check import InputError, to_numpy
from geodis.base.journal import array_pieces, changed_settings, digest_of, plain_digest
from geodis.base.write import to_jsonable
from geodis.data.grids.grid import FactorGrid
from geodis.kernels.storage import state_of, tensor_pieces
from geodis.models.model import Model
from geodis.models.randomness import host_seeded, seeded
from geodis.models.training.step import prior_parameters
from geodis.models.training.train_options import TrainOptions

# Increased when the content of checkpoints changes, or the same settings give other results.
FORMAT = 3
# Most bytes of an array that are hashed; of a larger one, evenly spaced rows.
MOST_BYTES = 2**26
# Most images of a grid, and items of a Dataset, that are hashed.
MOST_IMAGES, MOST_ITEMS = 256, 16
# Most steps at which a schedule is evaluated; of a longer run, evenly spaced steps.
MOST_STEPS = 4097
# Most names of a list that a message shows.
MOST_NAMES = 4

Identity = Mapping[str, Any]
Plans = Mapping[str, Callable[[float], float]]
Pieces = Iterator[bytes | memoryview]

# Messages for values that are digests.
IN_WORDS = {
    "format": "by another version of geodis",
    "revision": "with another revision of its class of model",
    "data": "on other data",
    "weights": "from other initial weights, as of another random_state of the model, or of modules "
    "of your own that were built without torch.manual_seed",
    "own_loss": "with another loss of your own",
    "own_encoder": "with another encoder of your own",
    "own_decoder": "with another decoder of your own",
    "own_prior": "with another prior of your own",
    "own_class": "with another class of your own",
}

# Types that are identified by their repr.
PLAIN: tuple[type, ...] = (bool, int, float, complex, str, bytes, type(None), range, slice)
PLAIN += (np.generic, np.dtype, torch.dtype, torch.device, PurePath)
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def run_identity(
    model: Model,
    data: Any,
    options: TrainOptions,
    planned: Plans,
    horizon: int | None,
    **plain: Any,
) -> dict[str, Any]:
    """Collect everything that affects the results of a run, except its number of steps.

    Parameters
    ----------
    model, data, options
        As for `train`, with "auto" resolved.
    planned : mapping of str to callable
        Schedules.
    horizon : int, optional
        Number of steps of the schedules.
    **plain
        Other values by name.
    """
    adversary = model.discriminator is not None
    return {
        "format": FORMAT,
        **package_versions(),
        "version": options.version,
        **model_identity(model),
        **plain,
        "data": data_fingerprint(data),
        "supervision": options.supervision if model.groups == 3 else None,
        "category": options.category if model.groups == 3 else None,
        "adversary_learning_rate": options.adversary_learning_rate if adversary else None,
        "prior_learning_rate": options.prior_learning_rate if prior_parameters(model) else None,
        "betas": [*model.betas, *(model.adversary_betas if adversary else ())],
        "weight_decay": model.weight_decay,
        "horizon": horizon,
        **courses(planned, horizon),
    }


def model_identity(model: Model) -> dict[str, Any]:
    """Collect what affects the results of a model: settings, class, user code, weights."""
    config = model.config()
    return {
        "model": {**config.pop("options"), **config.pop("settings"), **config},
        "revision": model.revision,
        **_own_code(model),
        "frozen parameters": frozen_parameters(model),
        "weights": weights_fingerprint(state_of(model)),
    }


def package_versions() -> dict[str, str]:
    """Return the versions of the packages that are used, without build names."""
    versions = {"geodis": __version__, "torch": torch.__version__, "numpy": np.__version__}
    return {f"{name} version": str(each).partition("+")[0] for name, each in versions.items()}


def check_same_run(file: object, begun: Identity, now: Identity) -> None:
    """Refuse to resume with a value that would change the results, and name it."""
    now = to_jsonable(dict(now))
    models = [each.get("model") for each in (begun, now)]
    kinds = [each.get("model") if isinstance(each, dict) else None for each in models]
    if kinds[0] != kinds[1]:
        raise InputError(
            f"{file} is a checkpoint of {kinds[0]}, and the model is {kinds[1]}: name another "
            "folder, or train that model on."
        )
    for name, before, after in changed_settings(begun, now):
        if name in IN_WORDS:
            raise InputError(f"{file} was trained {IN_WORDS[name]}: name another folder.")
        raise InputError(
            f"{file} was trained with {name} = {_shortened(before)}; got {_shortened(after)}: a "
            "run goes on as it began, so name another folder."
        )


def _shortened(value: Any) -> Any:
    """Shorten a value for a message: of a long list of names, show the first."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        return value
    more = len(value) - MOST_NAMES
    if not value:
        return "none"
    return ", ".join(value[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def check_settings(model: Model, planned: Iterable[str]) -> None:
    """Refuse settings that were changed after the model was built, except scheduled ones."""
    for name in sorted(model.chosen.keys() - set(planned)):
        chosen, now = model.chosen[name], getattr(model.settings, name, None)
        if now != chosen:
            raise InputError(
                f"{name} must be as the model was built, {chosen}; got {now}: build the model with "
                f"{name}={now}, or change it during training by schedules."
            )


def frozen_parameters(model: Model) -> list[str]:
    """List the parameters that do not learn, except those of a loss, which never do."""
    # The adversary always learns; training switches requires_grad of its parameters.
    adversary = {id(each) for each in model.adversary_parameters()}
    return sorted(
        name
        for name, each in model.named_parameters()
        if not (each.requires_grad or id(each) in adversary or name.startswith("loss_module."))
    )


# Schedules


def courses(planned: Plans, horizon: int | None) -> dict[str, str]:
    """Identify every schedule by its values over the horizon, under "schedule of ...".

    Examples
    --------
    >>> courses({"beta": lambda part: 4 * part}, 101)
    {'schedule of beta': '0.0 to 4.0, curve ea0a616a'}
    """
    steps = even_steps(horizon or 0, MOST_STEPS) / max((horizon or 0) - 1, 1)
    found = {}
    for name, plan in planned.items():
        # A line and a function for the same line differ by rounding.
        values = np.array([float(plan(part)) for part in steps.tolist()], dtype=np.float32)
        curve = digest_of([values.tobytes()])[:8]
        found[f"schedule of {name}"] = f"{float(plan(0.0))} to {float(plan(1.0))}, curve {curve}"
    return found


# User code


def is_own_class(kind: type) -> bool:
    """Whether a class, or one of its bases, is not part of geodis, torch or Python.

    Examples
    --------
    >>> is_own_class(nn.Linear)
    False
    """
    known = {"geodis", "torch", *sys.stdlib_module_names}
    return any(each.__module__.partition(".")[0] not in known for each in kind.__mro__)


def _own_code(model: Model) -> dict[str, str]:
    """Identify the parts of a model that are user code, by their keys in the identity."""
    config, loss = model.config(), getattr(model.settings, "loss", None)
    own = dict(getattr(model, "own_networks", {}))
    if callable(loss) and (config.get("loss") == "own" or is_own_class(type(loss))):
        own["loss"] = loss
    if config.get("prior") == "own" or is_own_class(type(model.prior)):
        own["prior"] = model.prior
    if is_own_class(type(model)):
        own["class"] = model
    return {f"own_{name}": plain_digest({"is": described(each)}) for name, each in own.items()}


def described(thing: Any, parents: tuple[int, ...] = ()) -> str:
    """Describe an object by its value, or by its qualified name and the arguments it was given.

    The arguments are the attributes with the names of parameters of the constructor. For a module
    they are the plain values among these, together with its printed structure. Paths are left out,
    because they describe the location of data, not their content.

    Examples
    --------
    >>> described(partial(pow, exp=2)), described([nn.ReLU, 1.5])
    ("pow((), {'exp': 2})", '[ReLU, 1.5]')
    """
    if isinstance(thing, PurePath) or (isinstance(thing, str) and ("/" in thing or "\\" in thing)):
        return "a path"
    if isinstance(thing, PLAIN):
        return repr(thing.item() if isinstance(thing, np.generic) else thing)
    if id(thing) in parents:
        return "itself"
    part = partial(described, parents=(*parents, id(thing)))
    if isinstance(thing, torch.Generator):
        return f"seed {thing.initial_seed()}"
    if hasattr(thing, "__array__") or hasattr(thing, "__array_interface__"):
        rows = thing if isinstance(thing, Tensor) else np.asarray(thing)
        return digest_of(row_pieces(rows if rows.ndim else rows.reshape(1)))
    if isinstance(thing, Mapping):
        return f"{{{', '.join(f'{part(key)}: {part(value)}' for key, value in thing.items())}}}"
    if isinstance(thing, set | frozenset):
        return f"{{{', '.join(sorted(map(part, thing)))}}}"
    if isinstance(thing, tuple | list):
        text = ", ".join(map(part, thing))
        return f"({text})" if isinstance(thing, tuple) else f"[{text}]"
    if isinstance(thing, partial):
        return f"{part(thing.func)}({part(thing.args)}, {part(thing.keywords)})"
    if hasattr(thing, "__qualname__"):
        owner = getattr(thing, "__self__", None)  # of a method
        of = "" if owner is None or inspect.ismodule(owner) else f" of {part(owner)}"
        return f"{thing.__qualname__}{of}"
    name = type(thing).__qualname__
    if isinstance(thing, nn.Module):
        own = [each for each in thing.modules() if is_own_class(type(each))]
        settings = [(type(each).__qualname__, _given(each, PLAIN)) for each in own]
        return f"{name}: {settings} {ADDRESS.sub('', repr(thing))}"
    # The rows of a TensorDataset are hashed separately.
    return name if isinstance(thing, TensorDataset) else f"{name}({part(_given(thing))})"


def _given(thing: Any, kinds: Any = object) -> dict[str, Any]:
    """Return the attributes of an object with the names of parameters of its constructor."""
    try:
        names = set(inspect.signature(type(thing)).parameters) - {"data_source"}  # of samplers
    except ValueError:  # a class written in C
        return {}
    given = {name: getattr(thing, name) for name in sorted(names) if hasattr(thing, name)}
    return {
        name: value
        for name, value in given.items()
        if isinstance(value, kinds) and getattr(value, "__self__", None) is not thing  # a method
    }


# Weights and data


def weights_fingerprint(tensors: Mapping[str, Tensor]) -> str:
    """Compute a digest of the names, dtypes, shapes and bytes of tensors."""
    return digest_of(tensor_pieces(tensors))


def row_pieces(rows: np.ndarray | Tensor) -> Pieces:
    """Yield the bytes of all rows of small data, or of evenly spaced rows of larger data."""
    yield f"{tuple(rows.shape)}".encode()
    index = even_steps(len(rows), max(MOST_BYTES // max(rows[:1].nbytes, 1), 1))
    if isinstance(rows, Tensor):
        yield from tensor_pieces({"": rows[torch.from_numpy(index)]})
    else:  # a memory map is read row by row
        yield from array_pieces({"": rows if len(index) == len(rows) else rows[index]})


def even_steps(n: int, most: int) -> np.ndarray:
    """Return at most `most` evenly spaced indices of n, from the first to the last.

    Examples
    --------
    >>> even_steps(9, 3).tolist(), even_steps(2, 3).tolist()
    ([0, 4, 8], [0, 1])
    """
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64)) if n else np.arange(0)


def data_fingerprint(data: Any) -> str:
    """Compute a digest of training data.

    Parameters
    ----------
    data : FactorGrid, array-like, Tensor, tuple of these, torch Dataset or DataLoader
        As for `train`. Of arrays up to 64 MB all entries are hashed, of larger ones evenly spaced
        rows; likewise for a TensorDataset and a grid that stores its images as an array. A tensor
        counts as the array of the same values. Of other grids 256 evenly spaced images are drawn.
        Of other Datasets 16 items are read, twice under one seed, and hashed if both are the same.
        Classes are identified by their qualified names and arguments, see `described`; so are the
        sampler, the batch size and the ``collate_fn`` of a DataLoader.

    Returns
    -------
    str

    Examples
    --------
    >>> data_fingerprint(np.zeros((3, 2))) == data_fingerprint(np.ones((3, 2)))
    False
    """
    return digest_of(_data_pieces(data))


def _data_pieces(data: Any) -> Pieces:
    if isinstance(data, DataLoader):
        yield f"{type(data).__name__} {data.batch_size} {data.drop_last}".encode()
        yield described(data.collate_fn).encode()
        for sampler in (data.sampler, data.batch_sampler):
            yield described(sampler).encode()
        items: Any = data.dataset  # whatever has items, such as a list
        yield from (_grid_pieces if isinstance(items, FactorGrid) else _dataset_pieces)(items)
    elif isinstance(data, Dataset):
        yield from _dataset_pieces(data)
    elif isinstance(data, FactorGrid):
        yield from _grid_pieces(data)
    else:
        for part in data if isinstance(data, tuple) else (data,):
            yield from row_pieces(_as_array(part))


def _as_array(part: Any) -> np.ndarray | Tensor:
    """Convert rows to an array, images with channels last; tensors unknown to numpy stay."""
    if not isinstance(part, Tensor):
        return part if isinstance(part, np.ndarray) else to_numpy(part, "data")
    rows = part.detach()
    if rows.dtype == torch.bfloat16 or rows.device.type != "cpu":
        return rows
    return (rows.movedim(1, -1) if rows.ndim == 4 else rows).numpy()


def _dataset_pieces(dataset: Any) -> Pieces:
    yield (described(dataset) if isinstance(dataset, Dataset) else type(dataset).__name__).encode()
    if isinstance(dataset, TensorDataset):
        for rows in dataset.tensors:
            yield from row_pieces(rows)
        return
    if hasattr(dataset, "__next__"):
        return  # an iterator, which reading would consume
    if hasattr(dataset, "__len__"):
        yield str(len(dataset)).encode()
    try:
        first, second = _some_items(dataset), _some_items(dataset)
    except Exception:  # an error of user code, which training will raise if it matters
        return
    if first == second:
        yield first.encode()


def _some_items(dataset: Any) -> str:
    """Describe a few items, drawn under a fixed seed."""
    with seeded(0), host_seeded(0):
        if isinstance(dataset, IterableDataset):
            return described(list(islice(dataset, MOST_ITEMS)))
        return described([dataset[at] for at in even_steps(len(dataset), MOST_ITEMS).tolist()])


def _grid_pieces(grid: FactorGrid) -> Pieces:
    n, shape = len(grid), grid.image_shape
    shared = (n, grid.sizes, grid.kinds, grid.complete, grid.periods)
    yield f"{type(grid).__qualname__} {shared}".encode()
    # Index and factors of a complete grid determine each other.
    most = MOST_IMAGES if grid.complete else MOST_BYTES // (8 * len(grid.sizes))
    yield from array_pieces({"factors": grid.factors(even_steps(n, max(most, 1)))})
    if shape is not None and _holds_images(grid, shape):
        image_bytes = max(grid.images(range(min(n, 1)), "auto").nbytes, 1)
        index = even_steps(n, max(MOST_BYTES // image_bytes, 1))
        yield from array_pieces({"images": grid.images(index, "auto")})
        return
    given = _given(grid, (*PLAIN, tuple))
    given.pop("names", None)  # names of factors do not affect results
    yield described(given).encode()
    for below in vars(grid).values():
        if isinstance(below, FactorGrid):  # a grid that this one transforms
            yield from _grid_pieces(below)
    if shape is not None:
        yield from array_pieces({"images": grid.images(even_steps(n, MOST_IMAGES), "auto")})


def _holds_images(grid: FactorGrid, shape: tuple[int, ...]) -> bool:
    """Whether an attribute of the grid is an array, or a memory map, with all its images."""
    n = len(grid)
    arrays = (each for each in vars(grid).values() if isinstance(each, np.ndarray))
    return any(each.shape[:1] == (n,) and each.size == n * math.prod(shape) for each in arrays)
