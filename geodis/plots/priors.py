"""Figures of Lp-nested priors: contours, preferred orientations of codes, and trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from geodis.base.check import InputError, check_int, check_real
from geodis.plots.style import ACCENT, FAINT, INK, new_axes, new_axis, tidy

COLUMNS = 3  # panels per row
FINE = 301  # grid points along each side of a plane
MESH = (91, 181)  # directions on a surface: polar and azimuthal
LEVELS = (0.5, 1.0, 1.5)
# Candidate rotations of a square, which has period 90 degrees.
ANGLES = np.radians(np.arange(-45, 45))


def plot_prior_contours(
    priors: Any, axis: Any = None, *, latents: Sequence[int] | None = None
) -> Any:
    """Draw level sets of the Lp-nested norm f of a prior (seed 002, figure 2).

    These are the lines f = 0.5, 1 and 1.5 for two latents, and the surface f = 1 for three. The
    density of the prior is constant on each.

    Parameters
    ----------
    priors : LpNested, tree, or mapping of str to these
        A tree is (exponent, children), as in `LpNested`. A mapping of titles to priors is drawn
        with a panel for each.
    axis : matplotlib axis, optional
        For a single prior; three latents need ``projection="3d"``.
    latents : sequence of 2 or 3 int, optional
        Latents to show, with the others at zero; by default all, if there are two or three.

    Returns
    -------
    matplotlib axis
        For a mapping, an array of axes of shape (rows, 3).

    Examples
    --------
    >>> axis = plot_prior_contours((1.0, [2]))
    >>> corner = np.abs(axis.collections[0].get_paths()[1].vertices).sum(axis=1)
    >>> bool(np.allclose(corner, 1, atol=1e-3))
    True
    """
    if not isinstance(priors, Mapping):
        return _draw_contours(tree_of(priors), axis, latents)
    if axis is not None or not priors:
        raise InputError(
            f"A mapping needs at least one prior, and no axis; got {len(priors)} priors."
        )
    trees = {str(title): tree_of(prior) for title, prior in priors.items()}
    solid = {len(_chosen(tree, latents)) == 3 for tree in trees.values()}
    if len(solid) > 1:
        raise InputError(
            "priors must all have two latents or all have three; choose some with latents."
        )
    axes = _panels(len(trees), solid.pop())
    for panel, (title, tree) in zip(axes.ravel(), trees.items(), strict=False):
        _draw_contours(tree, panel, latents)
        panel.set_title(title, fontsize=10)
    for panel in axes.ravel()[len(trees) :]:
        panel.set_visible(False)
    return axes


def plot_prior_orientation(exponents: Sequence[float] = (1.0, 9.0)) -> Any:
    """Draw how a prior rotates the code of positions in a square (seed 002, figure 3).

    Below: density contours of two independent latents of exponent p, ``exp(-|z|_p^p)``, and the
    square at its most probable rotation and scale (`best_turn`). Above: the positions, coloured by
    the first latent, from blue to red.

    Parameters
    ----------
    exponents : sequence of float
        One column each; leptokurtic below 2, platykurtic above.

    Returns
    -------
    array of matplotlib axes, shape (2, number of exponents)

    Examples
    --------
    >>> plot_prior_orientation([1.0]).shape
    (2, 1)
    """
    chosen = [check_real(p, "An exponent", low=0.1, high=50) for p in exponents]
    if not chosen:
        raise InputError("exponents must have at least one entry; got none.")
    axes = new_axes(2, len(chosen), 3.0 * len(chosen), 5.6)
    side = np.linspace(-1, 1, 33)
    places = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for (above, below), p in zip(axes.T, chosen, strict=True):
        angle, scale = best_turn(p)
        codes = scale * places @ _turn(angle).T
        shown = {"c": codes[:, 0], "cmap": "RdBu_r", "s": 9, "linewidths": 0}
        above.scatter(places[:, 0], places[:, 1], **shown)
        above.set(xlabel="x position", ylabel="y position", aspect="equal")
        kind = "leptokurtic" if p < 2 else "platykurtic" if p > 2 else "normal"
        above.set_title(f"p = {p:g}, {kind}", fontsize=10)
        furthest = _norm([p, [2]], codes).max()
        levels = [share * furthest for share in (0.35, 0.7, 1.05)]
        _lines(below, [p, [2]], (0, 1), 1.1 * levels[-1], levels)
        below.scatter(codes[:, 0], codes[:, 1], zorder=0, **shown)
        below.set(xlabel="first latent", ylabel="second latent", aspect="equal")
        for axis in (above, below):
            tidy(axis)
    return axes


def plot_prior_tree(prior: Any, axis: Any = None) -> Any:
    """Draw the tree of an Lp-nested prior (seed 002, figure 4).

    Parameters
    ----------
    prior : LpNested or tree
        Inner nodes are labelled with exponents, and leaves with latents.
    axis : matplotlib axis, optional

    Returns
    -------
    matplotlib axis

    Examples
    --------
    >>> axis = plot_prior_tree((2.1, [1, (1.5, [2])]))
    >>> sorted(text.get_text() for text in axis.texts)
    ['p = 1.5', 'p = 2.1', 'z1', 'z2', 'z3']
    """
    tree = tree_of(prior)
    depth, size = _depth(tree), _size(tree)
    axis = new_axis(max(2.4, 0.62 * size), 0.6 + 0.85 * depth) if axis is None else axis
    leaves = iter(range(size))

    def place(node: Any, height: int) -> float:
        """Draw a node and its descendants; return its horizontal position."""
        below: list[tuple[float, int]] = []
        for child in node[1]:
            if isinstance(child, list):
                below.append((place(child, height - 1), height - 1))
            else:
                below += [(float(next(leaves)), 0) for _ in range(child)]
        at = float(np.mean([across for across, _ in below]))
        for across, up in below:
            axis.plot([at, across], [height, up], color=FAINT, lw=1, zorder=1)
        for across, up in below:
            if up == 0:
                _label(axis, across, 0, f"z{round(across) + 1}", INK)
        _label(axis, at, height, f"p = {node[0]:.3g}", ACCENT)
        return at

    place(tree, depth)
    axis.set(xlim=(-0.8, size - 0.2), ylim=(-0.5, depth + 0.5))
    axis.set_axis_off()
    return axis


def tree_of(prior: Any) -> Any:
    """Return the tree of a prior, [exponent, children], with its current exponents.

    Examples
    --------
    >>> tree_of((2, [1, (1.5, [2])]))
    [2.0, [1, [1.5, [2]]]]
    """
    if not hasattr(prior, "config"):
        return _checked(prior)
    config = prior.config()
    if "tree" not in config:
        raise InputError(f"The prior must be Lp-nested; got {type(prior).__name__}.")
    # In the order of the prior: children before their parents.
    return _with_exponents(config["tree"], iter(prior.exponents.tolist()))


def best_turn(p: float) -> tuple[float, float]:
    """Compute the most probable rotation and scale of a square under latents of exponent p.

    For u uniform in [-1, 1]^2 and the rotation R by a, ``E log p(c R u) + 2 log c`` is maximal
    where ``M(a) = E |R u|_p^p`` is minimal. There, ``c^p = 2 / (p M)``, if the density is
    exp(-|z|_p^p).

    Examples
    --------
    >>> [round(abs(np.degrees(best_turn(p)[0]))) for p in (1.0, 9.0)]
    [45, 0]
    """
    side = (np.arange(60) + 0.5) / 30 - 1
    places = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    moments = np.array([(np.abs(places @ _turn(a).T) ** p).sum(axis=1).mean() for a in ANGLES])
    least = moments.min()
    # Among equally good angles, as for p = 2, take the one closest to zero.
    equal = np.flatnonzero(moments <= least * (1 + 1e-9))
    angle = ANGLES[equal[np.abs(ANGLES[equal]).argmin()]]
    return float(angle), float((2 / (p * least)) ** (1 / p))


def _turn(angle: float) -> np.ndarray:
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, -sin], [sin, cos]])


def _norm(tree: Any, z: np.ndarray) -> np.ndarray:
    """Compute the Lp-nested norm of rows (..., n): at every node, the p-norm of its children."""
    exponent, children = tree
    parts, start = [], 0
    for child in children:
        nested = isinstance(child, list)
        size = _size(child) if nested else child
        own = z[..., start : start + size]
        parts.append(_norm(child, own)[..., None] if nested else np.abs(own))
        start += size
    values = np.concatenate(parts, axis=-1)
    largest = np.maximum(values.max(axis=-1), 1e-300)  # powers of ratios do not overflow
    ratios = values / largest[..., None]
    return largest * (ratios**exponent).sum(axis=-1) ** (1 / exponent)


def _draw_contours(tree: Any, axis: Any, latents: Sequence[int] | None) -> Any:
    shown = _chosen(tree, latents)
    if len(shown) == 3:
        axis = _panels(1, True)[0, 0] if axis is None else axis
        return _surface(axis, tree, shown)
    axis = new_axis(3.4, 3.4) if axis is None else axis
    # Every norm is the absolute value along a coordinate axis.
    _lines(axis, tree, shown, LEVELS[-1] * 1.1, LEVELS)
    axis.set(xlabel=f"z{shown[0] + 1}", ylabel=f"z{shown[1] + 1}", aspect="equal")
    return tidy(axis)


def _lines(
    axis: Any, tree: Any, shown: Sequence[int], reach: float, levels: Sequence[float]
) -> None:
    side = np.linspace(-reach, reach, FINE)
    z = np.zeros((FINE, FINE, _size(tree)))
    z[..., shown[0]], z[..., shown[1]] = np.meshgrid(side, side)
    axis.contour(side, side, _norm(tree, z), levels=list(levels), colors=INK, linewidths=1.1)


def _surface(axis: Any, tree: Any, shown: Sequence[int]) -> Any:
    if not hasattr(axis, "plot_surface"):
        raise InputError("A surface needs an axis with projection='3d'; got a flat one.")
    up, round_ = np.linspace(0, np.pi, MESH[0]), np.linspace(0, 2 * np.pi, MESH[1])
    towards = np.stack(
        [
            np.outer(np.sin(up), np.cos(round_)),
            np.outer(np.sin(up), np.sin(round_)),
            np.outer(np.cos(up), np.ones_like(round_)),
        ],
        axis=-1,
    )
    z = np.zeros((*MESH, _size(tree)))
    z[..., list(shown)] = towards
    # f is homogeneous of degree 1, so the surface lies at distance 1 / f along every direction.
    x = towards / _norm(tree, z)[..., None]
    axis.plot_surface(*np.moveaxis(x, -1, 0), color="#9db8d2", rstride=3, cstride=3, lw=0.15)
    axis.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), zlim=(-1.1, 1.1))
    axis.set(xlabel=f"z{shown[0] + 1}", ylabel=f"z{shown[1] + 1}", zlabel=f"z{shown[2] + 1}")
    axis.tick_params(labelsize=7)
    axis.set_box_aspect((1, 1, 1))
    return axis


def _panels(count: int, solid: bool) -> Any:
    from matplotlib.figure import Figure

    columns = min(COLUMNS, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(2.9 * columns, 2.9 * rows), layout="constrained")
    kind = {"projection": "3d"} if solid else {}
    return figure.subplots(rows, columns, squeeze=False, subplot_kw=kind)


def _chosen(tree: Any, latents: Sequence[int] | None) -> list[int]:
    """Return the two or three latents to show."""
    size = _size(tree)
    chosen = list(range(size)) if latents is None else list(latents)
    if len(chosen) not in (2, 3) or len({*chosen}) < len(chosen):
        raise InputError(f"latents must be two or three distinct latents; got {chosen}.")
    return [check_int(j, "A latent", low=0, high=size - 1) for j in chosen]


def _checked(tree: Any) -> Any:
    try:
        exponent, children = tree
        children = list(children)
    except (TypeError, ValueError):
        raise InputError(
            f"A prior must be LpNested, or a tree (exponent, children); got {tree!r}."
        ) from None
    exponent = check_real(exponent, "An exponent", low=0.1, high=50)
    if not children:
        raise InputError(f"A tree must have leaves; got none at the node of exponent {exponent}.")
    return [
        exponent,
        [
            _checked(child)
            if isinstance(child, tuple | list)
            else check_int(child, "A number of leaves", low=1)
            for child in children
        ],
    ]


def _with_exponents(tree: Any, values: Iterator[float]) -> Any:
    children = [
        _with_exponents(child, values) if isinstance(child, list) else child for child in tree[1]
    ]
    return [next(values), children]


def _size(tree: Any) -> int:
    return sum(_size(child) if isinstance(child, list) else child for child in tree[1])


def _depth(tree: Any) -> int:
    return 1 + max(_depth(child) if isinstance(child, list) else 0 for child in tree[1])


def _label(axis: Any, across: float, up: float, text: str, color: str) -> None:
    box = {"boxstyle": "round,pad=0.3", "fc": "white", "ec": color}
    axis.text(across, up, text, ha="center", va="center", fontsize=9, bbox=box, zorder=2)
