"""Priors of latents: the standard normal, uniform codes, and Lp-nested distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from geodis.base.check import InputError, check_choice, check_int, check_real
from geodis.models.randomness import torch_generator, widest_float

# Lp-nested distributions of latents, with exponents that can be learnt
#
# An Lp-nested norm is a tree of Lp norms, `f(z) = (sum over children of v^p)^(1/p)` at every inner
# node, and the distribution is uniform on its spheres (Stühmer, Turner and Nowozin 2020, equation
# 7). With the radial density of equation 11 the children of the root are mutually independent, but
# latents below the same child are dependent: independent subspaces.

MOST_LATENTS = 10**6
# Smaller exponents give spikes and larger ones a cube; both overflow double precision for many
# latents.
EXPONENTS = (0.1, 50.0)
LearntExponents = Literal["none", "subspaces", "all"]
# The most frequent exponents of three subspaces with root 2.1, initialised at 2.0 and sorted within
# a run, over beta from .5 to 5, on 3D faces (seed 002, appendix A.2, figure 7).
PUBLISHED_EXPONENTS = (1.95, 1.98, 2.17)
# Smaller |z| count as zero, with a finite logarithm and a gradient of zero.
SMALLEST = 1e-30


@dataclass(frozen=True)
class _Node:
    """An inner node of the tree, with its children and its leaves `start` to `stop`.

    A child is the index of another node, or -1 - leaf for a leaf.
    """

    children: tuple[int, ...]
    start: int
    stop: int

    @property
    def n_leaves(self) -> int:
        return self.stop - self.start


class LpNested(nn.Module):
    """Lp-nested symmetric distribution for any tree.

    With n latents, root exponent `p0`, norm `f` and surface constant `S` (equations 7, 8 and 11),

        log p(z) = log p0 - (n / p0) log s - log Gamma(n / p0) - f(z)^p0 / s - log S.

    The scale s divides `f^p0`. If every exponent is 2 this is a normal distribution with variance
    s / 2: the published s = 1 has variance one half, and s = 2 is the standard normal.

    Parameters
    ----------
    tree : tuple (exponent, children)
        A child is a number of leaves or a tree: in `(2.2, [1, (1.5, [3])])` the root has one leaf
        and a subspace of three. Latents are numbered from left to right.
    scale : float
        The scale s.
    learn : {"none", "subspaces", "all"}
        Which exponents are learnt: none, all but that of the root (as published), or all. Their
        learning rate is ``TrainOptions.prior_learning_rate``.

    Examples
    --------
    >>> prior = LpNested.isa(2.1, [(2.2, 4), (2.2, 4)])
    >>> prior.size
    8
    >>> prior.sample(3, random_state=0).shape
    torch.Size([3, 8])
    """

    def __init__(self, tree: Any, scale: float = 1.0, learn: LearntExponents = "none") -> None:
        super().__init__()
        check_choice(learn, "learn", get_args(LearntExponents))
        self.scale = check_real(scale, "scale")
        if self.scale <= 0:
            raise InputError(f"scale must be positive; got {scale}.")
        self._nodes: list[_Node] = []
        exponents: list[float] = []
        self.size = self._add(tree, 0, exponents)
        self.learn = learn
        self._tree = _plain_tree(tree)
        values = torch.tensor(exponents, dtype=torch.float64)
        learnt = {"none": 0, "subspaces": len(exponents) - 1, "all": len(exponents)}[learn]
        # Children are numbered before their parents, so the root is the last node.
        self._learnt = nn.Parameter(values[:learnt].clone()) if learnt else None
        self.register_buffer("_fixed", values[learnt:].clone())
        for number, node in enumerate(self._nodes):  # leaves below every child of a node
            counts = [self._nodes[child].n_leaves if child >= 0 else 1 for child in node.children]
            leaves = torch.tensor(counts, dtype=torch.float64)
            self.register_buffer(f"_leaves_{number}", leaves, persistent=False)

    def _apply(self, fn: Any, recurse: bool = True) -> LpNested:
        """Move to a device, in float32 if the device has no float64."""
        where: Tensor = fn(torch.zeros(0))
        now: Tensor = self._fixed  # type: ignore[assignment]
        before, after = widest_float(now.device), widest_float(where.device)
        if before != after == torch.float32:
            self._set_precision(after)
        moved = super()._apply(fn, recurse)
        if before != after == torch.float64:
            self._set_precision(after)
        return moved

    def _set_precision(self, dtype: torch.dtype) -> None:
        for each in (*self.parameters(), *self.buffers()):
            each.data = each.data.to(dtype)

    @classmethod
    def isa(
        cls,
        p0: float,
        subspaces: Sequence[tuple[float, int]],
        scale: float = 1.0,
        learn: LearntExponents = "none",
    ) -> LpNested:
        """Make independent subspaces [(exponent, size), ...] with root exponent p0 (equation 9)."""
        try:
            children = [(p, [size]) for p, size in subspaces]
        except (TypeError, ValueError):
            raise InputError(
                f"subspaces must be [(exponent, size), ...]; got {subspaces!r}."
            ) from None
        return cls((p0, children), scale=scale, learn=learn)

    def _add(self, tree: Any, start: int, exponents: list[float]) -> int:
        """Add a subtree, children first, and return the end of its leaves."""
        try:
            exponent, children = tree
            children = list(children)
        except (TypeError, ValueError):
            raise InputError(
                "a tree must be (exponent, [children]), each child a number of leaves or a tree; "
                f"got {tree!r}."
            ) from None
        exponent = check_real(exponent, "an exponent", *EXPONENTS)
        stop, numbers = start, []
        for child in children:
            if isinstance(child, tuple | list):
                stop = self._add(child, stop, exponents)
                numbers.append(len(self._nodes) - 1)
            else:
                leaves = check_int(child, "a number of leaves", low=1)
                if stop + leaves > MOST_LATENTS:  # a damaged file must not allocate a huge list
                    raise InputError(
                        f"a tree must have at most {MOST_LATENTS:,} leaves; got {stop + leaves:,}."
                    )
                numbers += [-1 - leaf for leaf in range(stop, stop + leaves)]
                stop += leaves
        if not numbers:
            raise InputError(
                f"a tree must have leaves; got none at the node of exponent {exponent}."
            )
        self._nodes.append(_Node(tuple(numbers), start, stop))
        exponents.append(exponent)
        return stop

    @property
    def exponents(self) -> Tensor:
        """Return the exponents of the inner nodes in float64, children first, the root last."""
        fixed: Tensor = self._fixed  # type: ignore[assignment]
        values = fixed if self._learnt is None else torch.cat([self._learnt, fixed])
        # The parameters are the exponents themselves, so that steps of the optimiser are equally
        # large for all. Those outside the range are clamped, with an unchanged gradient, until
        # `keep_in_range` sets them to its ends.
        return values + (values.clamp(*EXPONENTS) - values).detach()

    @torch.no_grad()
    def keep_in_range(self) -> None:
        """Clamp learnt exponents to the allowed range; training calls this after every step.

        Otherwise they could drift far outside and take long to return.
        """
        if self._learnt is not None:
            self._learnt.clamp_(*EXPONENTS)

    def _log_norms(self, z: Tensor, exponents: Tensor) -> Tensor:
        """Compute log f(z); in logarithms, because a power of a large latent overflows."""
        leaves = z.to(widest_float(z.device)).abs().clamp(min=SMALLEST).log()
        values: list[Tensor] = []
        for node, p in zip(self._nodes, exponents, strict=True):
            parts = [
                values[child] if child >= 0 else leaves[..., -1 - child] for child in node.children
            ]
            values.append(torch.logsumexp(p * torch.stack(parts, dim=-1), dim=-1) / p)
        return values[-1]

    def norm(self, z: Tensor) -> Tensor:
        """Compute the Lp-nested norm f(z) of the rows of z (equation 9 for subspaces)."""
        require_latents(z, self.size)
        return self._log_norms(z, self.exponents).exp().to(z.dtype)

    def log_surface(self) -> Tensor:
        """Compute the logarithm of the surface area of the unit sphere of f (equation 8).

        S = 2^n prod over inner nodes i with l children of
        p_i^(1 - l) [prod over children k of Gamma(n_k / p_i)] / Gamma(n_i / p_i).
        """
        exponents = self.exponents
        total = exponents.new_zeros(())
        for number, (node, p) in enumerate(zip(self._nodes, exponents, strict=True)):
            leaves = self._leaves_below(number)
            total = total + torch.lgamma(leaves / p).sum() - torch.lgamma(node.n_leaves / p)
            total = total - (len(leaves) - 1) * p.log()
        return total + self.size * math.log(2)

    def _leaves_below(self, number: int) -> Tensor:
        """Return the number of leaves below every child of a node."""
        leaves: Tensor = getattr(self, f"_leaves_{number}")
        return leaves

    def log_prob(self, z: Tensor) -> Tensor:
        """Compute the log-density of the rows of z, differentiable in z and the exponents.

        The rows have shape (..., size). The result is computed in double precision and returned in
        the precision of z.
        """
        require_latents(z, self.size)
        exponents = self.exponents
        p0 = exponents[-1]
        power = (p0 * self._log_norms(z, exponents)).exp() / self.scale  # f^p0 / s
        shape = self.size / p0
        log_prob = (
            p0.log() - shape * math.log(self.scale) - torch.lgamma(shape) - power
        ) - self.log_surface()
        limits = torch.finfo(z.dtype)
        return log_prob.clamp(min=limits.min).to(z.dtype)

    @torch.no_grad()
    def sample(self, n: int, random_state: Any = None) -> Tensor:
        """Draw n exact samples of the latents, shape (n, size); not differentiable.

        Algorithm 1 of the paper, without the radius that its step 1 draws and its step 4 divides
        out. Every inner node divides its radius among its children by a Dirichlet variable, and
        f^p0 / s at the root has a Gamma(n / p0) distribution (equation 11).
        """
        generator = torch_generator(random_state)
        n = check_int(n, "n", low=1)
        return self._drawn(n, torch.device("cpu"), generator).to(torch.get_default_dtype())

    @torch.no_grad()
    def draw_for(self, z: Tensor) -> Tensor:
        """Draw as many latents as z has rows, on its device, with the global generator of torch."""
        return self._drawn(len(z), z.device, None).to(z.dtype)

    def _drawn(self, n: int, device: torch.device, generator: torch.Generator | None) -> Tensor:
        exponents = self.exponents.to(device)
        p0, wide = exponents[-1], exponents.dtype
        power = torch._standard_gamma((self.size / p0).expand(n).contiguous(), generator=generator)
        radii: dict[int, Tensor] = {len(self._nodes) - 1: (self.scale * power).pow(1 / p0)}
        out = torch.empty(n, self.size, dtype=wide, device=device)
        for number in range(len(self._nodes) - 1, -1, -1):  # parents first
            node, p = self._nodes[number], exponents[number]
            shapes = (self._leaves_below(number).to(device) / p).expand(n, -1).contiguous()
            gammas = torch._standard_gamma(shapes, generator=generator)
            shares = (gammas / gammas.sum(dim=1, keepdim=True)).pow(1 / p)
            own = radii.pop(number)
            for place, child in enumerate(node.children):
                radius = own * shares[:, place]
                if child >= 0:
                    radii[child] = radius
                else:
                    out[:, -1 - child] = radius
        signs = torch.randint(0, 2, out.shape, generator=generator, device=device) * 2 - 1
        return out * signs

    def config(self) -> dict[str, Any]:
        """Return everything needed to rebuild the prior but learnt exponents, which are weights."""
        return {
            "prior": type(self).__name__,
            "tree": self._tree,
            "scale": self.scale,
            "learn": self.learn,
        }

    def extra_repr(self) -> str:
        """Show size, exponents and scale when printed."""
        shown = ", ".join(f"{value:.3g}" for value in self.exponents.tolist())
        return f"size={self.size}, exponents=[{shown}], scale={self.scale}, learn={self.learn!r}"


def learnt_exponents(model: Any) -> dict[str, float]:
    """Return the exponents that a model's prior has learnt, by rank: "1" is the smallest.

    As a callback, ``TrainOptions(callbacks={"exponent": learnt_exponents})``, it adds them to the
    history. The table of a sweep has the columns "exponent 1", ..., and `geodis train` prints the
    exponents at the end. `PUBLISHED_EXPONENTS` has the published values.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> prior = LpNested.isa(2.1, [(2.0, 2), (1.9, 2)], learn="subspaces")
    >>> learnt_exponents(SimpleNamespace(prior=prior))
    {'1': 1.9, '2': 2.0}
    """
    prior = getattr(model, "prior", None)
    if not isinstance(prior, LpNested) or prior.learn == "none":
        return {}
    values = prior.exponents.tolist()
    own = sorted(values if prior.learn == "all" else values[:-1])  # the root's is the last
    return {str(rank): value for rank, value in enumerate(own, start=1)}


def _plain_tree(tree: Any) -> Any:
    """Convert the tree to lists and numbers."""
    exponent, children = tree
    plain = (
        _plain_tree(child) if isinstance(child, tuple | list) else int(child) for child in children
    )
    return [float(exponent), list(plain)]


def require_latents(z: Tensor, size: int) -> None:
    """Require one column for every latent of the prior."""
    if z.ndim < 1 or z.shape[-1] != size:
        raise InputError(
            f"latents must have {size} columns, one for every latent of the prior; "
            f"got shape {tuple(z.shape)}."
        )


class StandardNormal(nn.Module):
    """Independent standard normal latents.

    Parameters
    ----------
    size : int
        Number of latents.

    Examples
    --------
    >>> round(StandardNormal(2).log_prob(torch.zeros(1, 2)).item(), 4)  # -log 2 pi
    -1.8379
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = check_int(size, "size", low=1)

    def log_prob(self, z: Tensor) -> Tensor:
        """Compute the log-density `-(|z|^2 + size log 2 pi) / 2` of rows (..., size)."""
        require_latents(z, self.size)
        return -0.5 * (z.square().sum(dim=-1) + self.size * math.log(2 * math.pi))

    def sample(self, n: int, random_state: Any = None) -> Tensor:
        """Draw n latents, shape (n, size)."""
        generator = torch_generator(random_state)
        return torch.randn(check_int(n, "n", low=1), self.size, generator=generator)

    def draw_for(self, z: Tensor) -> Tensor:
        """Draw as many latents as z has rows, on its device, with the global generator of torch."""
        return torch.randn_like(z)

    def config(self) -> dict[str, Any]:
        """Return everything needed to rebuild the prior, as plain values."""
        return {"prior": type(self).__name__, "size": self.size}

    def extra_repr(self) -> str:
        """Show the size when printed."""
        return f"size={self.size}"


class UniformCodes(nn.Module):
    """Codes of InfoWGAN-GP: uniform in [-1, 1], and one categorical code (seed 003, appendix H).

    Parameters
    ----------
    continuous : int
    categories : int
        Number of columns of the one-hot categorical code; 0 for none.

    Examples
    --------
    >>> UniformCodes(2, 3).sample(4, random_state=0).shape
    torch.Size([4, 5])
    """

    def __init__(self, continuous: int, categories: int = 0) -> None:
        super().__init__()
        self.continuous = check_int(continuous, "continuous", low=0)
        self.categories = check_int(categories, "categories", low=0)
        self.size = self.continuous + self.categories
        if self.size == 0 or self.categories == 1:
            raise InputError(
                "Codes must be continuous, or of at least 2 categories; "
                f"got {continuous} continuous and {categories} categories."
            )

    def sample(self, n: int, random_state: Any = None) -> Tensor:
        """Draw n codes, shape (n, continuous + categories)."""
        return self._drawn(check_int(n, "n", low=1), generator=torch_generator(random_state))

    def draw_for(self, z: Tensor) -> Tensor:
        """Draw as many codes as z has rows, on its device, with the global generator of torch."""
        return self._drawn(len(z), device=z.device).to(z.dtype)

    def _drawn(self, n: int, **source: Any) -> Tensor:
        codes = self._continuous(n, **source)
        if not self.categories:
            return codes
        category = torch.randint(self.categories, (n, 1), **source)
        one_hot = torch.zeros(n, self.categories, device=category.device).scatter_(1, category, 1.0)
        return torch.cat([codes, one_hot], dim=1)

    def _continuous(self, n: int, **source: Any) -> Tensor:
        return 2 * torch.rand(n, self.continuous, **source) - 1

    def config(self) -> dict[str, Any]:
        """Return everything needed to rebuild the prior, as plain values."""
        return {
            "prior": type(self).__name__,
            "continuous": self.continuous,
            "categories": self.categories,
        }

    def extra_repr(self) -> str:
        """Show the sizes when printed."""
        return f"continuous={self.continuous}, categories={self.categories}"


class NormalCodes(UniformCodes):
    """Standard normal latents, and one categorical latent with equally likely categories.

    Parameters
    ----------
    continuous : int
    categories : int
        Number of columns of the one-hot categorical latent; 0 for none.

    Examples
    --------
    >>> NormalCodes(2, 3).sample(4, random_state=0)[:, 2:].sum(dim=1).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    def _continuous(self, n: int, **source: Any) -> Tensor:
        return torch.randn(n, self.continuous, **source)


def drawn_for(prior: Any, z: Tensor) -> Tensor:
    """Draw as many latents from a prior as z has rows, on the device of z.

    A prior that has only `sample` draws them on the CPU, with a seed from torch.
    """
    if hasattr(prior, "draw_for"):
        return prior.draw_for(z)
    drawn: Tensor = prior.sample(len(z), random_state=int(torch.randint(2**31, (1,))))
    return drawn.to(z)


def prior_from_config(config: Any, given: nn.Module | None = None) -> nn.Module:
    """Rebuild a prior from its configuration; a user's prior has to be passed."""
    if given is not None:
        return given
    known = {kind.__name__: kind for kind in (StandardNormal, LpNested, UniformCodes, NormalCodes)}
    if not isinstance(config, dict) or config.get("prior") not in known:
        raise InputError(
            "This model was trained with a prior of the user's own, which is code and is not "
            "saved: pass it as prior=..."
        )
    options = dict(config)
    return known[options.pop("prior")](**options)
