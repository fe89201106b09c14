"""The second-order connection Laplacian, as an operator or a sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from geodis.base.check import InputError, check_choice
from geodis.base.jobs import check_jobs
from geodis.manifold.holonomy.diffusion import diffuse
from geodis.manifold.local.graph import NeighborGraph


def n_coordinates(k: int) -> int:
    """Return the number of coordinates of a symmetric k x k matrix: k (k + 1) / 2."""
    return k * (k + 1) // 2


def vec_symmetric(matrices: np.ndarray) -> np.ndarray:
    r"""Stack the lower triangle, with off-diagonal entries times sqrt 2.

    This preserves the inner product: ``vec(S) . vec(S') = trace(S S')``.

    Parameters
    ----------
    matrices : ndarray of shape (..., k, k)
        Symmetric; only the lower triangle is read.

    Returns
    -------
    ndarray of shape (..., k (k + 1) / 2)

    Examples
    --------
    >>> vec_symmetric(np.array([[1.0, 2.0], [2.0, 3.0]])).round(3)
    array([1.   , 2.828, 3.   ])
    """
    rows, columns = np.tril_indices(matrices.shape[-1])
    return matrices[..., rows, columns] * _weights(rows, columns).astype(matrices.dtype)


def unvec_symmetric(vectors: np.ndarray, k: int) -> np.ndarray:
    """Invert `vec_symmetric`: shape (..., k (k + 1) / 2) to (..., k, k).

    Examples
    --------
    >>> unvec_symmetric(vec_symmetric(np.eye(2)), 2)
    array([[1., 0.],
           [0., 1.]])
    """
    rows, columns = np.tril_indices(k)
    matrices = np.empty((*vectors.shape[:-1], k, k), vectors.dtype)
    entries = vectors / _weights(rows, columns).astype(vectors.dtype)
    matrices[..., rows, columns] = entries
    matrices[..., columns, rows] = entries
    return matrices


def symmetric_basis(k: int) -> np.ndarray:
    """Return the matrix Pi_sym of the paper, from symmetric coordinates to full matrices.

    Returns
    -------
    ndarray of shape (k^2, k (k + 1) / 2)
        Orthonormal columns; ``(Pi @ vec_symmetric(S)).reshape(k, k) = S``.
    """
    return unvec_symmetric(np.eye(n_coordinates(k)), k).reshape(-1, k * k).T


def traceless_basis(k: int) -> np.ndarray:
    """Return the matrix Pi_tr of the paper, from traceless to all symmetric coordinates.

    Returns
    -------
    ndarray of shape (k (k + 1) / 2, k (k + 1) / 2 - 1)
        Orthonormal columns, each the coordinates of a matrix of trace zero.

    Examples
    --------
    >>> traceless_basis(2).T.round(3)  # an off-diagonal matrix, and diag(1, -1) / sqrt 2
    array([[ 0.   ,  1.   ,  0.   ],
           [ 0.707,  0.   , -0.707]])
    """
    rows, columns = np.tril_indices(k)
    diagonal = np.flatnonzero(rows == columns)
    off_diagonal = np.flatnonzero(rows != columns)
    basis = np.zeros((len(rows), len(rows) - 1))
    basis[off_diagonal, np.arange(len(off_diagonal))] = 1.0
    for j in range(1, k):  # Helmert contrasts: the first j entries against the next
        contrast = np.r_[np.ones(j), -j] / np.sqrt(j * (j + 1))
        basis[diagonal[: j + 1], len(off_diagonal) + j - 1] = contrast
    return basis


def _weights(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return np.where(rows == columns, 1.0, np.sqrt(2.0))


@dataclass(frozen=True)
class ConnectionLaplacian:
    r"""The second-order graph connection Laplacian on traceless symmetric fields, matrix-free.

    With ``(W S)_i = sum_j Q_ij S_j Q_ij^T`` over the neighbours j of i and D the degrees::

        A = I - D^(-1/2) W D^(-1/2)    (normalized)
        A = D - W                      (published)

    R fields are float32 of shape (n, k (k + 1) / 2, R), with the coordinates of `vec_symmetric`.
    The trace is projected out after every application, which commutes with A; otherwise rounding
    would bring back the identity field, whose eigenvalue is exactly zero.

    Attributes
    ----------
    graph : NeighborGraph
    transports : ndarray of float32, shape (e, k, k)
    normalized : bool
    n_jobs : int, optional
        Threads; one by default, -1 for every core. The result does not depend on it.
    """

    graph: NeighborGraph
    transports: np.ndarray
    normalized: bool = True
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        """Check the number of threads."""
        check_jobs(self.n_jobs)

    @property
    def k(self) -> int:
        """Intrinsic dimension."""
        return self.transports.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of one field: number of points, and of coordinates at a point."""
        return self.graph.n_points, n_coordinates(self.k)

    def apply(self, fields: np.ndarray) -> np.ndarray:
        """Apply A to every field, shape (n, k (k + 1) / 2, R).

        Examples
        --------
        >>> from geodis import neighbor_graph
        >>> graph = neighbor_graph(graph=[[0, 1], [1, 0]])
        >>> turn = np.array([[[0, 1], [-1, 0]], [[0, -1], [1, 0]]], np.float32)
        >>> A = ConnectionLaplacian(graph, turn)
        >>> S = np.array([[[1.0], [0.0], [-1.0]]] * 2, np.float32)  # diag(1, -1) at both points
        >>> A.apply(S)[0].ravel()  # a quarter turn changes its sign
        array([ 2.,  0., -2.], dtype=float32)
        """
        return self.combine(-1.0, 0.0, fields, 0.0, fields)

    def combine(
        self,
        weight: float,
        shift: float,
        fields: np.ndarray,
        older_weight: float,
        older: np.ndarray,
    ) -> np.ndarray:
        """Return -weight (A - shift) S + older_weight Z in one pass: a step of a recurrence."""
        scale, diagonal = self._scales()
        adjacency = self.graph.adjacency
        own = (-weight * (diagonal - shift)).astype(np.float32)
        return diffuse(
            adjacency.indptr,
            adjacency.indices,
            self.transports,
            fields,
            scales=(scale, scale),
            weight=weight,
            own=(own, fields),
            older=(older_weight, older),
            n_jobs=self.n_jobs,
        )

    def _scales(self) -> tuple[np.ndarray, np.ndarray]:
        degrees = self.graph.degrees.astype(np.float32)
        if self.normalized:
            return 1 / np.sqrt(degrees), np.ones_like(degrees)
        return np.ones_like(degrees), degrees


def explicit_laplacian(
    graph: NeighborGraph,
    transports: np.ndarray,
    *,
    coordinates: Literal["traceless", "symmetric", "full"] = "traceless",
    normalized: bool = True,
) -> sparse.bsr_array:
    """Build the Laplacian as a sparse block matrix, for small problems and for inspection.

    Parameters
    ----------
    graph : NeighborGraph
    transports : ndarray of shape (e, k, k)
    coordinates : {"traceless", "symmetric", "full"}
        The space of fields. The blocks are -Q_ij (x) Q_ij on full matrices (k^2 x k^2), and
        Pi^T (-Q_ij (x) Q_ij) Pi on symmetric and on traceless symmetric ones (algorithm 1).
    normalized : bool
        As in `ConnectionLaplacian`.

    Returns
    -------
    bsr_array of shape (n b, n b)
        b is k^2, k (k + 1) / 2 or k (k + 1) / 2 - 1.

    Examples
    --------
    >>> from geodis import neighbor_graph
    >>> graph = neighbor_graph(graph=[[0, 1], [1, 0]])
    >>> turn = np.array([[[0, 1], [-1, 0]], [[0, -1], [1, 0]]])
    >>> np.linalg.eigvalsh(explicit_laplacian(graph, turn).toarray()).round(6)
    array([0., 0., 2., 2.])
    """
    check_choice(coordinates, "coordinates", ("traceless", "symmetric", "full"))
    transports = np.asarray(transports, dtype=float)
    n, k = graph.n_points, transports.shape[1]
    if k == 1 and coordinates == "traceless":
        raise InputError("In dimension 1 every traceless matrix is zero: dim must be at least 2.")
    basis = np.eye(k * k)
    if coordinates != "full":
        basis = symmetric_basis(k)
    if coordinates == "traceless":
        basis = basis @ traceless_basis(k)
    # vec(Q S Q^T) = (Q (x) Q) vec(S), row by row
    kronecker = np.einsum("eac,ebd->eabcd", transports, transports).reshape(-1, k * k, k * k)
    degrees = graph.degrees.astype(float)
    scale = 1 / np.sqrt(degrees) if normalized else np.ones(n)
    adjacency = graph.adjacency
    row = np.repeat(np.arange(n), graph.degrees)
    edge_scale = (scale[row] * scale[adjacency.indices])[:, None, None]
    off = sparse.bsr_array(
        (-edge_scale * (basis.T @ kronecker @ basis), adjacency.indices, adjacency.indptr),
        shape=(n * basis.shape[1],) * 2,
    )
    own = np.ones(n) if normalized else degrees
    return sparse.bsr_array(off + sparse.kron(sparse.diags_array(own), np.eye(basis.shape[1])))
