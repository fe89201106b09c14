"""Parts of the divergence of a model while it trains, and how far a batch's estimate is off."""

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


# Numbers of the table of densities that are held at once.
MOST_ENTRIES = 2**19


def divergence_during(
    data: Any,
    n: int = 1000,
    *,
    rows: int | None = None,
    batch_size: int = 64,
    random_state: Any = 0,
) -> Callable[[Model], dict[str, float]]:
    """Make a callback for `train` that takes the divergence apart.

    With q(z) the mean of q(z|x) over N rows, all of them unless `rows` says fewer, and z drawn from
    q(z|x) of n of these, in nats,

        KL(q(z|x) || p(z)) = information + total correlation + dimension-wise divergence
        information = E log q(z|x) / q(z),   total correlation = E log q(z) / prod_j q(z_j),
        dimension-wise divergence = E log prod_j q(z_j) / p(z).

    That is the truth about these N rows, and of all rows the definition: q(z) is a mixture over the
    data (seed 003, section 3). Another set of as many rows has another. The information is at most
    log N, which is said beside it: codes so narrow that it is near to that leave gaps between the
    rows, and what lies in the gaps counts as total correlation. The fewer the rows, the more of it.
    A normal distribution fitted to q(z) has no gaps: its total correlation, beside the other, is
    without noise of the draw, and sees linear dependence alone.

    Objectives estimate q(z) from the batch that z is drawn from, which moves the total correlation
    by about (z - 1) log N, and more: their estimate is said beside the true one.

    Parameters
    ----------
    data : FactorGrid, or rows as for `encode`
        Of a torch Dataset or DataLoader the images are gone through at every call.
    n : int
        Latents that are drawn, one from each of so many rows; of all where there are fewer. More
        lessen the noise, and change nothing else.
    rows : int, optional
        Rows that q(z) is the mean of, drawn once; all by default. Every call encodes these, and
        looks at n x rows x z densities, some at a time.
    batch_size : int
        Of the estimate from batches.
    random_state : None, int or Generator
        Of the rows, and of z.

    Returns
    -------
    callable
        Model -> "information", "information ceiling" (log N), "total correlation", "dimension-wise
        divergence", "total correlation of a normal fit", "total correlation of a batch".

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
    held = data if rows is None else _some_of(data, check_int(rows, "rows", low=2), rng)
    seed, seed_of_rows = (int(rng.integers(2**31)) for _ in range(2))

    def part(model: Model) -> dict[str, float]:
        require_parts(model)
        codes, spreads = encode(model, held, log_variances=True)
        count = len(codes)
        # In double precision: differences of densities of many codes are looked at.
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
            # Narrowed before it goes: the prior's device may have no double precision.
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
    """Require noisy codes and a prior with a density: there is no divergence without."""
    if model.deterministic or not hasattr(model.prior, "log_prob"):
        raise InputError(
            f"The divergence has parts where codes are noisy and the prior has a density; got "
            f"{type(model).__name__}."
        )


def _some_of(data: Any, rows: int, rng: np.random.Generator) -> Any:
    """So many rows, or all of fewer."""
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
    """Log q(z) and log prod_j q(z_j) at every row of z, with q the mean of the n normals.

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
            each = gaussian_log_density(
                some[:, None], means[None], log_variances[None]
            )  # (b, n, z)
            joint = torch.logaddexp(joint, each.sum(dim=2).logsumexp(dim=1))
            product = torch.logaddexp(product, each.logsumexp(dim=1))
        joints.append(joint - math.log(n))
        products.append((product - math.log(n)).sum(dim=1))
    return torch.cat(joints), torch.cat(products)


def _of_batches(
    z: Tensor, mean: Tensor, log_variance: Tensor, size: int, count: int, seed: int
) -> float:
    """Mean over batches of the estimate of the total correlation that objectives lower.

    The latents z are of the rows with these means and log-variances, of `count` rows in all.
    """
    n = len(z)
    order = torch.randperm(n, generator=torch_generator(seed + 1))
    estimates = []
    for batch in order.split(min(size, n)):
        if len(batch) == min(size, n):  # a rest of a few rows is another estimate
            own = z[batch], mean[batch], log_variance[batch]
            joint, product = aggregate_log_densities(*own, count)
            estimates.append(float((joint - product).mean()))
    return float(np.mean(estimates))


def _device_of(prior: torch.nn.Module) -> torch.device:
    tensors = [*prior.parameters(), *prior.buffers()]
    return tensors[0].device if tensors else torch.device("cpu")


# Scores of a model while it trains.


def score_during(
    grid: FactorGrid,
    scores: Sequence[str] = ("mig", "dci", "linearity_ratio", "axis_ratio"),
    n: int = 1000,
    *,
    random_state: Any = 0,
) -> Callable[[Model], dict[str, float]]:
    """Make a callback for `train` that scores the latents of images held fixed.

    Parameters
    ----------
    grid : FactorGrid
        Where the images and their factors are from.
    scores : sequence of str
        As for `geodis.score_latents`.
    n : int
        Images, drawn once; all of a smaller grid. Scores that look along traversals, or fix a
        factor, draw images of their own from the grid, the same at every call.
    random_state : None, int or Generator
        Of the draw and of the scores.

    Returns
    -------
    callable
        Model -> score by name.

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
    # A few rows of a large grid have no traversals among them: these draw their own images.
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
    """How much to draw where a score draws for itself: about n images a factor."""
    limits = {"n_pairs": n, "n_traversals": max(2, n // 8)}
    return {option: limit for option, limit in limits.items() if entry.has_option(option)}


# Loggers: what is told every row of a run's history while it runs, as CSV and to TensorBoard.

Row = Mapping[str, float]
HEADER = ("step", "name", "value")


class RunLogger:
    """What `TrainOptions.loggers` holds: told of the beginning, of every row, and of the end.

    A row is an entry of the history: "step", with the value of every term, or with what callbacks
    returned. Any function of a row may stand in its place.
    """

    def begin(self, history: Sequence[Row]) -> None:
        """Get ready; of a run that goes on, `history` is what it had."""

    def __call__(self, row: Row) -> None:
        """Take one row."""
        raise NotImplementedError

    def end(self) -> None:
        """Close what is open, also after an interrupt."""


class CSVLogger(RunLogger):
    """Writes "step", "name" and "value", a line each, as they come.

    Parameters
    ----------
    path : path
        Of a run that goes on it is written anew from its history, so that no step is there twice.

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
        """Write the header, and what the run had."""
        try:
            with whole_file(self._path) as temporary, temporary.open("w", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(HEADER)
                writer.writerows(line for row in history for line in _lines(row))
        except OSError as error:
            raise _cannot_log(error) from None

    def __call__(self, row: Row) -> None:
        """Add the lines of a row."""
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
    """Writes every value as a scalar that TensorBoard shows.

    Parameters
    ----------
    folder : path
        What was written there by steps that a run does not have is hidden: by those after the last
        of a run that goes on, and by all of one that begins.

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
        # From the last step of the history on TensorBoard hides what was written before: rows of
        # one step may lie on both sides of where the run goes on. Those that it has come again.
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
        """Write what is left, and close."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
