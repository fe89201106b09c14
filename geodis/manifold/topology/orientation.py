"""Frames at neighbouring places -> whether all of them can be given one handedness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, diags, identity
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from geodis.manifold.topology.place_graph import PlaceGraph

# The lowest frequency of handedness over that of a function. One handedness all round gives zero
# but for errors of frames; on a space that has none it is a frequency of the space itself.
ORIENTABLE, NOT_ORIENTABLE = 0.06, 0.15
# A cut across a surface of e edges crosses about the root of e, .6 to 7 times that as measured on
# bands, bottles and projective planes; fewer are a bridge between places that do not touch, as
# where two turns of a roll come near.
BRIDGE = 0.25


@dataclass(frozen=True)
class Handedness:
    """Whether frames carried around loops come back as they were.

    Attributes
    ----------
    orientable : bool or None
        None where it cannot be told.
    frequency : float
        Least ``sum w (s_i - sign_ij s_j)^2 / sum s_i^2`` over that of a function of mean zero
        with the same edges, s being the handedness of every frame: zero where it is the same all
        round.
    against : float
        Share of the edges that the best choice of handedness does not satisfy.
    """

    orientable: bool | None
    frequency: float
    against: float

    def __str__(self) -> str:
        """In words."""
        share = f"{100 * self.against:.2g} % of the edges against the best choice of handedness"
        if self.orientable is None:
            return f"whether it is orientable cannot be told ({share})"
        return f"{'orientable' if self.orientable else 'not orientable'}: {share}"


def handedness(frames: np.ndarray, graph: PlaceGraph, rng: np.random.Generator) -> Handedness:
    """Compare the frames at the ends of every edge by the determinant of F_i F_j^T.

    With s the sign of every frame and w the size of the determinant, the least
    ``sum w (s_i - sign_ij s_j)^2`` over real s is an eigenvalue; a spanning tree can always be
    satisfied, and this is what the other edges say, weighed all at once.
    """
    own = frames[graph.rows]
    p = len(own)
    transport = np.linalg.det(own[graph.first] @ np.swapaxes(own[graph.second], 1, 2))
    ends = np.concatenate([graph.first, graph.second]), np.concatenate([graph.second, graph.first])
    signed = csr_matrix((np.tile(transport, 2), ends), shape=(p, p))
    plain = csr_matrix((np.tile(np.abs(transport), 2), ends), shape=(p, p))
    root = diags(1 / np.sqrt(np.maximum(np.asarray(plain.sum(axis=1)).ravel(), 1e-12)))
    eye = identity(p, format="csr")
    try:
        one = _lowest(eye - root @ signed @ root, rng)
        flat = _lowest(eye - root @ plain @ root, rng)
    except ArpackNoConvergence:  # very long and thin
        return Handedness(None, np.nan, np.nan)
    frequency = float(one[0][0] / max(flat[0][1], 1e-12))
    sign = np.sign(one[1][:, 0])
    against = float(np.mean(transport * sign[graph.first] * sign[graph.second] < 0))
    orientable = None
    if frequency < ORIENTABLE:
        orientable = True
    elif frequency > NOT_ORIENTABLE and against > BRIDGE / np.sqrt(len(transport)):
        orientable = False
    return Handedness(orientable, frequency, against)


def _lowest(matrix: csr_matrix, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The three lowest eigenvalues of a normalised Laplacian, and their vectors."""
    n = matrix.shape[0]
    # Its values lie in [0, 2]: the lowest are the highest of 2 - matrix, quick for Lanczos.
    flipped = 2 * identity(n, format="csr") - matrix
    values, vectors = eigsh(
        flipped, k=3, which="LA", v0=rng.standard_normal(n), tol=1e-6, ncv=min(60, n)
    )
    order = np.argsort(-values)
    return 2 - values[order], vectors[:, order]
