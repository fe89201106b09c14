"""Homogeneous spaces: rotations, unitary groups, projective spaces, Stiefel and Grassmann."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.zoo_cases.case import Case, family
from benchmarks.zoo_cases.clouds import Cloud, beside, orthonormal, product, push, sphere_at
from benchmarks.zoo_cases.products import of_spec
from geodis.data import random_rotations


def skew(*pairs: tuple[int, int, int]) -> np.ndarray:
    """The 4 x 4 matrix with +-1 at pairs (i, j, sign), antisymmetric."""
    matrix = np.zeros((4, 4))
    for i, j, sign in pairs:
        matrix[i, j], matrix[j, i] = sign, -sign
    return matrix


def rotations_of_four(n: int, seed: int) -> Cloud:
    """SO(4) = (S^3 x S^3) / +-1: left and right quaternions are its factors."""
    q = random_rotations(n, 4, np.random.default_rng(seed))
    tangents = []
    for sign in (1, -1):
        basis = np.stack(
            [
                skew((0, 1, 1), (2, 3, sign)),
                skew((0, 2, 1), (1, 3, -sign)),
                skew((0, 3, 1), (1, 2, sign)),
            ]
        )
        tangents.append(np.einsum("nij,ajk->naik", q, basis).reshape(n, 3, 16) / 2)
    return Cloud(q.reshape(n, -1), tangents)


def planes_of_four(n: int, seed: int) -> Cloud:
    """Gr(4, 2) = (S^2 x S^2) / +-1: of B in u B w^T, the conformal and the anticonformal part."""
    q = random_rotations(n, 4, np.random.default_rng(seed))
    u, w = q[:, :, :2], q[:, :, 2:]
    outer = np.einsum("nxi,nya->niaxy", u, w)
    moves = (outer + outer.swapaxes(-1, -2)).reshape(n, 2, 2, 16) / 2
    (a, b), (c, d) = moves.transpose(1, 2, 0, 3)
    tangents = [np.stack([a + d, b - c], axis=1), np.stack([a - d, b + c], axis=1)]
    points = (u @ u.swapaxes(1, 2)).reshape(n, -1)
    return Cloud(points, [orthonormal(frames) for frames in tangents])


@family("real homogeneous spaces", "tuning")
def real_spaces() -> Iterator[Case]:
    yield of_spec("SO(3)", 2000, 3)
    yield Case("SO(4) = 3 + 3, n = 3,000", partial(rotations_of_four, 3000), ((3, 3),))
    yield Case("SO(4) = 3 + 3, n = 6,000", partial(rotations_of_four, 6000), ((3, 3),))
    yield Case("Gr(4, 2) = 2 + 2", partial(planes_of_four, 3000), ((2, 2),))
    yield of_spec("Gr(4, 1)", 2000, 3)
    yield of_spec("St(3, 2)", 2000, 3)
    yield of_spec("St(4, 2)", 4000, 5)
    yield of_spec("Gr(5, 2)", 5000, 6)


def complex_vectors(n: int, k: int, seed: int) -> Cloud:
    """Unit vectors of C^k as (real, imaginary) columns, tangents orthogonal to i z as well."""
    sphere = sphere_at(np.random.default_rng(seed).standard_normal((n, 2 * k)))
    x = sphere.points
    turned = np.hstack([-x[:, k:], x[:, :k]])
    frames = sphere.tangents[0]
    frames = frames - (frames @ turned[:, :, None]) * turned[:, None, :]
    return Cloud(x, [orthonormal(frames, 2 * k - 2)])


def projectors(x: np.ndarray) -> np.ndarray:
    """Entries of z z^*, real and imaginary."""
    z = x[:, : x.shape[1] // 2] + 1j * x[:, x.shape[1] // 2 :]
    entries = (z[:, :, None] * z[:, None, :].conj()).reshape(len(x), -1)
    return np.hstack([entries.real, entries.imag])


def complex_projective(n: int, k: int, seed: int) -> Cloud:
    """CP^(k - 1) as projectors."""
    return push(complex_vectors(n, k, seed), projectors)


def unitary(n: int, k: int, special: bool, seed: int) -> Cloud:
    """U(k), of which the multiples of the identity are a factor, or SU(k)."""
    rng = np.random.default_rng(seed)
    q, r = np.linalg.qr(rng.standard_normal((n, k, k)) + 1j * rng.standard_normal((n, k, k)))
    diagonal = np.diagonal(r, axis1=1, axis2=2)
    q = q * (diagonal / np.abs(diagonal))[:, None, :]  # Haar
    if special:
        q = q * (np.linalg.det(q) ** (-1 / k))[:, None, None]
    basis = traceless(k)
    groups = [basis] if special else [basis, 1j * np.eye(k)[None]]
    tangents = [columns(np.einsum("nij,ajk->naik", q, group)) for group in groups]
    return Cloud(columns(q), [orthonormal(frames) for frames in tangents])


def traceless(k: int) -> np.ndarray:
    """A basis of the antihermitian matrices without trace, (k^2 - 1, k, k)."""
    unit = np.eye(k * k).reshape(k, k, k, k)  # unit[i, j] is the matrix e_i e_j^T
    i, j = np.triu_indices(k, 1)
    real, imaginary = unit[i, j] - unit[j, i], 1j * (unit[i, j] + unit[j, i])
    a = np.arange(k - 1)
    return np.concatenate([real, imaginary, 1j * (unit[a, a] - unit[a + 1, a + 1])])


def columns(matrices: np.ndarray) -> np.ndarray:
    """Complex matrices (..., k, k) as real rows (..., 2 k^2)."""
    flat = matrices.reshape(*matrices.shape[:-2], -1)
    return np.concatenate([flat.real, flat.imag], axis=-1)


def projective_and(spec: str, n: int, seed: int) -> Cloud:
    return beside(complex_projective(n, 3, seed), product(spec, n, seed + 1))


@family("complex homogeneous spaces", "held-out")
def complex_spaces() -> Iterator[Case]:
    yield Case("CP^2", partial(complex_projective, 3000, 3), ((4,),))
    yield Case("CP^3", partial(complex_projective, 6000, 4), ((6,),))
    yield Case("SU(2)", partial(unitary, 2000, 2, True), ((3,),))
    yield Case("SU(3)", partial(unitary, 6000, 3, True), ((8,),))
    yield Case("U(2) = 3 + 1", partial(unitary, 3000, 2, False), ((3, 1),))
    yield Case("CP^2 x S^2", partial(projective_and, "S^2", 5000), ((4, 2),))
    yield Case("CP^2 x S^1", partial(projective_and, "S^1", 4000), ((4, 1),))


@family("products of homogeneous spaces", "held-out")
def products_of_spaces() -> Iterator[Case]:
    yield of_spec("Gr(3, 1) x Gr(3, 1)", 3000, 2, 2)
    yield of_spec("Gr(3, 1) x S^3", 3500, 3, 2)
    yield of_spec("St(3, 2) x S^2", 4000, 3, 2)
    yield Case("Gr(4, 2) x S^1", planes_and_circle, ((2, 2, 1),))


def planes_and_circle(seed: int) -> Cloud:
    return beside(planes_of_four(4000, seed), product("S^1", 4000, seed + 1))
