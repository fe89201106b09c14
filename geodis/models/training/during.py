"""Monitor training: parts of the divergence, scores, and logs as CSV or for TensorBoard."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from geodis.base.check import InputError, check_int, check_random_state, require
from geodis.base.write import whole_file
from geodis.data.grids.grid import FactorGrid
from geodis.models.encoding import encode
from geodis.models.model import Model
from geodis.models.randomness import torch_generator, widest_float
from geodis.models.terms import aggregate_log_densities, gaussian_log_density

if TYPE_CHECKING:
    from geodis.scores.registry import ScoreEntry


# Largest number of densities that are computed in one block.
MOST_ENTRIES = 2**19


def divergence_during(
    data: Any,
    n: int = 1000,
    *,
    rows: int | None = None,
    batch_size: int = 64,
    random_state: Any = 0,
) -> Callable[[Model], dict[str, float]]:
    """Make a callback for `train` that computes the parts of the divergence.

    Let q(z) be the mean of q(z|x) over N rows (all, or as many as `rows`), and z samples from
    q(z|x) for n of these. In nats,

        KL(q(z|x) || p(z)) = information + total correlation + dimension-wise divergence
        information = E log q(z|x) / q(z),   total correlation = E log q(z) / prod_j q(z_j),
        dimension-wise divergence = E log prod_j q(z_j) / p(z).

    For these N rows the values are exact up to the noise of z, and for all rows they are the
    definition, where q(z) is a mixture over the data (seed 003, section 3). Another set of rows has
    other values. The information is at most log N, the "information ceiling". If it is close to
    that, the posteriors are so narrow that gaps between the rows count as total correlation; this
    increases when rows are fewer. A normal distribution fitted to q(z) has no gaps: its total
    correlation has no sampling noise, but measures linear dependence only.

    Objectives estimate q(z) from the batch of z itself, which shifts the total correlation by about
    (z - 1) log N or more. This estimate is returned as well.

    Parameters
    ----------
    data : FactorGrid, or rows as for `encode`
        Every call iterates over a torch Dataset or DataLoader.
    n : int
        Number of latents, one from each of n rows (all rows if there are fewer). More latents only
        reduce the noise.
    rows : int, optional
        Number of rows in the mixture q(z), drawn once; all by default. Every call encodes them and
        computes n x rows x z densities in blocks.
    batch_size : int
        Batch size of the estimate from batches.
    random_state : None, int or Generator
        Seed of the rows and of z.

    Returns
    -------
    callable
        Maps a model to "information", "information ceiling" (log N), "total correlation",
        "dimension-wise divergence", "total correlation of a normal fit", "total correlation of a
        batch".

    Examples
    --------
    >>> from geodis.models import VAE
    >>> parts = divergence_during(np.random.default_rng(0).random((50, 3)))(VAE((3,), 2))
    >>> list(parts)[:2], abs(parts["total correlation"]) < 0.1
    (['information', 'information ceiling'], True)
    """
    from geodis.scores import gaussian_total_correlation

    check_int(batch_size, "batch_size", low=2)
    check_int(n, "n", low=2)
    rng = check_random_state(random_state)
    mixture_rows = data if rows is None else _some_of(data, check_int(rows, "rows", low=2), rng)
    seed, seed_of_rows = (int(rng.integers(2**31)) for _ in range(2))

    def part(model: Model) -> dict[str, float]:
        require_parts(model)
        codes, spreads = encode(model, mixture_rows, log_variances=True)
        count = len(codes)
        # Double precision, because densities of many codes are subtracted.
        mean, log_variance = (torch.from_numpy(each).double() for each in (codes, spreads))
        drawn = np.random.default_rng(seed_of_rows).choice(count, min(n, count), replace=False)
        index = torch.from_numpy(np.sort(drawn))
        own_mean, own_log_variance = mean[index], log_variance[index]
        noise = torch.randn(own_mean.shape, generator=torch_generator(seed), dtype=mean.dtype)
        z = own_mean + (0.5 * own_log_variance).exp() * noise
        own = gaussian_log_density(z, own_mean, own_log_variance).sum(dim=1)
        joint, product = mixture_log_densities(z, mean, log_variance)
        where = _device_of(model.prior)
        with torch.no_grad():
            # Converted before copying, because the device may have no double precision.
            prior = model.prior.log_prob(z.to(widest_float(where)).to(where)).cpu()
        batch = _of_batches(z, own_mean, own_log_variance, batch_size, count, seed)
        return {
            "information": float((own - joint).mean()),
            "information ceiling": math.log(count),
            "total correlation": float((joint - product).mean()),
            "dimension-wise divergence": float((product - prior).mean()),
            "total correlation of a normal fit": float(
                gaussian_total_correlation(codes, log_variances=spreads)
            ),
            "total correlation of a batch": batch,
        }

    return part


def require_parts(model: Model) -> None:
    """Require noisy codes and a prior with a density, without which there is no divergence."""
    if model.deterministic or not hasattr(model.prior, "log_prob"):
        raise InputError(
            f"The divergence has parts where codes are noisy and the prior has a density; got "
            f"{type(model).__name__}."
        )


def _some_of(data: Any, rows: int, rng: np.random.Generator) -> Any:
    """Draw rows of the data, or return all if there are not more."""
    streams = (torch.utils.data.DataLoader, torch.utils.data.IterableDataset)
    if isinstance(data, streams) or not hasattr(data, "__len__"):
        raise InputError(
            "rows can be drawn of a grid, an array, a tensor or a Dataset with a length; got "
            f"{type(data).__name__}: leave rows out for all that it gives."
        )
    if rows >= len(data):
        return data
    index = np.sort(rng.choice(len(data), rows, replace=False))
    if isinstance(data, FactorGrid):
        return data.images(index, "auto")
    if isinstance(data, torch.utils.data.Dataset):
        return torch.utils.data.Subset(data, index.tolist())
    return data[torch.from_numpy(index)] if isinstance(data, Tensor) else np.asarray(data)[index]


def mixture_log_densities(z: Tensor, mean: Tensor, log_variance: Tensor) -> tuple[Tensor, Tensor]:
    """Compute log q(z) and log prod_j q(z_j) at every row of z for a mixture q of n normals.

    Returns
    -------
    joint, product : Tensor of shape (rows of z,)
    """
    n, latents = mean.shape
    block = max(1, MOST_ENTRIES // latents)
    parts = list(zip(mean.split(block), log_variance.split(block), strict=True))
    joints, products = [], []
    for some in z.split(max(1, MOST_ENTRIES // (min(n, block) * latents))):
        joint = torch.full((len(some),), -math.inf, dtype=z.dtype, device=z.device)
        product = torch.full_like(some, -math.inf)
        for means, log_variances in parts:
            # (b, n, z)
            each = gaussian_log_density(some[:, None], means[None], log_variances[None])
            joint = torch.logaddexp(joint, each.sum(dim=2).logsumexp(dim=1))
            product = torch.logaddexp(product, each.logsumexp(dim=1))
        joints.append(joint - math.log(n))
        products.append((product - math.log(n)).sum(dim=1))
    return torch.cat(joints), torch.cat(products)


def _of_batches(
    z: Tensor, mean: Tensor, log_variance: Tensor, size: int, count: int, seed: int
) -> float:
    """Average the batch estimate of the total correlation that objectives minimise.

    The latents z were drawn with these means and log-variances; the data have `count` rows.
    """
    n = len(z)
    order = torch.randperm(n, generator=torch_generator(seed + 1))
    estimates = []
    for batch in order.split(min(size, n)):
        if len(batch) == min(size, n):  # a smaller last batch would have another bias
            own = z[batch], mean[batch], log_variance[batch]
            joint, product = aggregate_log_densities(*own, count)
            estimates.append(float((joint - product).mean()))
    return float(np.mean(estimates))


def _device_of(prior: torch.nn.Module) -> torch.device:
    tensors = [*prior.parameters(), *prior.buffers()]
    return tensors[0].device if tensors else torch.device("cpu")


# Scores during training


def score_during(
    grid: FactorGrid,
    scores: Sequence[str] = ("mig", "dci", "linearity_ratio", "axis_ratio"),
    n: int = 1000,
    *,
    random_state: Any = 0,
) -> Callable[[Model], dict[str, float]]:
    """Make a callback for `train` that scores the latents of a fixed set of images.

    Parameters
    ----------
    grid : FactorGrid
        Source of the images and their factors.
    scores : sequence of str
        As for `geodis.score_latents`.
    n : int
        Number of images, drawn once; all images of a smaller grid. Scores that use traversals, or
        that fix a factor, draw their own images from the grid, the same at every call.
    random_state : None, int or Generator
        Seed of the draw and of the scores.

    Returns
    -------
    callable
        Maps a model to its scores by name.

    Examples
    --------
    >>> from geodis.models import VAE
    >>> grid = FactorGrid.from_arrays(np.random.default_rng(0).random((6, 8, 8)),
    ...                               [[a, b] for a in range(2) for b in range(3)])
    >>> scores = score_during(grid, ["mig"])(VAE(grid, latents=2))
    >>> list(scores), 0 <= scores["mig"] <= 1
    (['mig'], True)
    """
    from geodis.scores import score_latents
    from geodis.scores.registry import choose_scores

    if not isinstance(grid, FactorGrid):
        raise InputError(
            "Scores need images with their factors: a FactorGrid, such as "
            f"FactorGrid.from_arrays(images, factors); got {type(grid).__name__}."
        )
    n = min(check_int(n, "n", low=1), len(grid))
    rng = check_random_state(random_state)
    seed = int(rng.integers(2**31))
    index = np.sort(rng.choice(len(grid), n, replace=False))
    images, factors = grid.images(index, "auto"), grid.factors(index)
    chosen = choose_scores(list(scores))
    on_rows = [entry.name for entry in chosen if not entry.takes_grid]
    # A random subset of a large grid has no traversals, so these scores draw their own images.
    on_grid = [entry for entry in chosen if entry.takes_grid]

    def score(model: Model) -> dict[str, float]:
        values: dict[str, float] = {}
        if on_rows:
            latents = encode(model, images)
            table = score_latents(
                latents, factors, on_rows, chance=False, verbose=0, random_state=seed
            )
            values |= table.values_by_name
        for entry in on_grid:
            options = _limits(entry, n)
            drawn = entry.compute(partial(encode, model), grid, random_state=seed, **options)
            values |= entry.rows_of(drawn)
        return values

    return score


def _limits(entry: ScoreEntry, n: int) -> dict[str, int]:
    """Limit what a score draws itself to about n images per factor."""
    limits = {"n_pairs": n, "n_traversals": max(2, n // 8)}
    return {option: limit for option, limit in limits.items() if entry.has_option(option)}


# Loggers, which receive every row of the history during training

Row = Mapping[str, float]
HEADER = ("step", "name", "value")


class RunLogger:
    """Base of loggers for `TrainOptions.loggers`, called at the start, for every row, at the end.

    A row is an entry of the history: "step" with the value of every term, or with the results of
    callbacks. Any function of a row can be used instead.
    """

    def begin(self, history: Sequence[Row]) -> None:
        """Prepare for a run; `history` has the rows of a resumed run."""

    def __call__(self, row: Row) -> None:
        """Log one row."""
        raise NotImplementedError

    def end(self) -> None:
        """Close files, also after an interrupt."""


class CSVLogger(RunLogger):
    """Write lines of "step", "name" and "value" to a CSV file during training.

    Parameters
    ----------
    path : path
        For a resumed run the file is rewritten from the history, so that no step is duplicated.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "history.csv"
    >>> logger = CSVLogger(path)
    >>> logger.begin([{"step": 0, "kl": 0.5}])
    >>> logger({"step": 10, "kl": 0.25})
    >>> path.read_text().split()
    ['step,name,value', '0,kl,0.5', '10,kl,0.25']
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def begin(self, history: Sequence[Row]) -> None:
        """Write the header and the history."""
        try:
            with whole_file(self._path) as temporary, temporary.open("w", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(HEADER)
                writer.writerows(line for row in history for line in _lines(row))
        except OSError as error:
            raise _cannot_log(error) from None

    def __call__(self, row: Row) -> None:
        """Append the lines of a row."""
        try:
            with self._path.open("a", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(_lines(row))
        except OSError as error:
            raise _cannot_log(error) from None


def _cannot_log(error: OSError) -> InputError:
    return InputError(f"A log must be a file that can be written: {error}.")


def _lines(row: Row) -> Iterable[tuple[Any, str, float]]:
    return [(row["step"], name, value) for name, value in row.items() if name != "step"]


class TensorBoardLogger(RunLogger):
    """Write every value as a scalar for TensorBoard.

    Parameters
    ----------
    folder : path
        Older entries of steps that the run does not have are hidden: those after the last step of
        a resumed run, and all for a new run.

    Raises
    ------
    MissingExtraError
        When training begins, if tensorboard is not installed.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._writer: Any = None

    def begin(self, history: Sequence[Row]) -> None:
        """Open the folder."""
        try:
            board = require("torch.utils.tensorboard", purpose="TensorBoardLogger")
        except ImportError:
            raise InputError(
                "TensorBoardLogger needs tensorboard, which is not installed: pip install "
                "tensorboard, or log with CSVLogger."
            ) from None
        # TensorBoard hides older entries from the last step of the history on. The rows of that
        # step are written again, because the run may resume between them.
        last = history[-1]["step"] if history else 0
        self._writer = board.SummaryWriter(str(self._folder), purge_step=int(last))
        for row in history:
            if row["step"] >= last:
                self(row)

    def __call__(self, row: Row) -> None:
        """Add the values of a row."""
        for step, name, value in _lines(row):
            self._writer.add_scalar(name, value, int(step))

    def end(self) -> None:
        """Write the remaining entries and close."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
