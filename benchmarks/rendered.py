"""Flat factors of rendered images: poses and light of one object, and 72 views of one that turns.

``python -m benchmarks.rendered [--out FOLDER]``. Runs with any version of geodis on the path, so
that two versions can be compared on the same images.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.transform import Rotation
from scipy.stats import spearmanr
from sklearn.decomposition import FastICA
from sklearn.manifold import Isomap, SpectralEmbedding

from benchmarks._measure import write_table
from geodis import GeoManCER, Scenes
from geodis.data.scenes.meshes import Mesh, blob, cube, geodesic_sphere

SIZE = 32
N_POSES, N_VIEWS, N_OBJECTS = 700, 72, 20
COMPONENTS = (10, 20, 40)
# Of Isomap, and of eigenmaps those of which the best is taken with the angle known.
NEIGHBORS_OF_RIVALS, FEW_NEIGHBORS = 15, (2, 4, 8)
# Largest yaw, pitch and angle of the light, in degrees.
RANGES = (45, 20, 60)


def bumpy(seed: int) -> Mesh:
    """A sphere with bumps and dents of random places, heights and widths."""
    rng = np.random.default_rng(seed)
    directions, triangles = geodesic_sphere(5)
    radius = 0.6 * np.ones(len(directions))
    for _ in range(rng.integers(2, 8)):
        at = rng.standard_normal(3)
        at /= np.linalg.norm(at)
        radius += rng.uniform(-0.25, 0.6) * np.exp(rng.uniform(3, 25) * (directions @ at - 1))
    return Mesh.from_triangles(directions * radius[:, None] * rng.uniform(0.6, 1, 3), triangles)


def rendered(mesh: Mesh, turns: np.ndarray, lights: np.ndarray) -> np.ndarray:
    """Images as rows."""
    scenes = Scenes(SIZE, mesh=mesh, n_jobs=1, supersampling=3)
    images = scenes.render(turns, lights, "float32", verbose=False)
    return images.reshape(len(images), -1).astype(float)


def poses(mesh: Mesh, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Images of an object in many poses under a light that moves, and the three angles."""
    angles = np.random.default_rng(seed).uniform(-1, 1, (N_POSES, 3)) * np.radians(RANGES)
    turns = Rotation.from_euler("YX", angles[:, :2]).as_matrix()
    light = angles[:, 2]
    lights = np.stack([np.sin(light), np.full(N_POSES, 0.3), np.cos(light)], axis=1)
    return rendered(mesh, turns, lights), angles


def views(mesh: Mesh, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Images of an object that turns once, and the angle."""
    angle = 2 * np.pi * np.arange(N_VIEWS) / N_VIEWS
    stand = Rotation.random(random_state=seed)
    turns = Rotation.from_rotvec([0.35, 0, 0]) * Rotation.from_rotvec(angle[:, None] * [0, 1, 0])
    lights = np.tile([0.3, 0.5, 0.8], (N_VIEWS, 1))
    return rendered(mesh, (turns * stand).as_matrix(), lights), angle


def components(images: np.ndarray, count: int) -> np.ndarray:
    left, size, _ = np.linalg.svd(images - images.mean(axis=0), full_matrices=False)
    return left[:, :count] * size[:count]


def matched_correlation(coordinates: np.ndarray, angles: np.ndarray) -> float:
    """Mean rank correlation of every angle with a coordinate of its own; 0 without coordinates."""
    known = np.isfinite(coordinates).all(axis=1)
    if not coordinates.shape[1] or known.sum() < len(angles) / 2:
        return 0.0
    together = np.abs(spearmanr(np.hstack([coordinates, angles])[known]).statistic)
    table = together[: coordinates.shape[1], coordinates.shape[1] :]
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].sum() / angles.shape[1])


def circular_correlation(est: GeoManCER, angle: np.ndarray) -> float:
    """|mean exp(i (found - true))|, up to direction; 0 where the curve was not closed."""
    if est.flat_coordinates_.shape[1] != 1 or not est.periods_ or not len(est.periods_[0]):
        return 0.0
    found = 2 * np.pi * est.flat_coordinates_[:, 0] / np.linalg.norm(est.periods_[0][0])
    known = np.isfinite(found)
    both = [np.abs(np.exp(1j * (s * found - angle)[known]).mean()) for s in (1, -1)]
    return float(max(both) * known.mean())


def of_angles(found: np.ndarray, angle: np.ndarray) -> float:
    """|mean exp(i (found - true))| of angles, up to direction."""
    return float(max(np.abs(np.exp(1j * (s * found - angle)).mean()) for s in (1, -1)))


def fitted(points: np.ndarray, dim: int | Literal["auto"]) -> GeoManCER:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GeoManCER(dim=dim, verbose=0).fit(points)


def isomap_and_ica(points: np.ndarray, angles: np.ndarray) -> float:
    """What independent components of geodesic distances give, told the dimension."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Isomap(n_neighbors=NEIGHBORS_OF_RIVALS, n_components=3).fit_transform(points)
        return matched_correlation(FastICA(random_state=0).fit_transform(found), angles)


def eigenmaps_angle(points: np.ndarray, angle: np.ndarray) -> float:
    """The angle around the first two Laplacian eigenmaps, with the best number of neighbours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        maps = [
            SpectralEmbedding(
                2, affinity="nearest_neighbors", n_neighbors=count, random_state=0
            ).fit_transform(points)
            for count in FEW_NEIGHBORS
        ]
    return max(of_angles(np.arctan2(*both.T), angle) for both in maps)


def pose_rows() -> list[dict[str, Any]]:
    rows = []
    meshes = {"a blob": blob(), "bumps of seed 3": bumpy(3), "bumps of seed 8": bumpy(8)}
    for seed, (name, mesh) in enumerate(meshes.items()):
        images, angles = poses(mesh, seed)
        for count in (None, *COMPONENTS):
            points = images if count is None else components(images, count)
            est = fitted(points, 3)
            rows.append(
                {
                    "images": f"poses and light of {name}",
                    "of": "pixels" if count is None else f"{count} components",
                    "matched rank correlation": matched_correlation(est.flat_coordinates_, angles),
                    "Isomap and FastICA": isomap_and_ica(points, angles),
                    "factors": " + ".join(map(str, est.factor_dims_)),
                    "flagged": bool(est.uncertain_),
                }
            )
    return rows


def view_rows() -> list[dict[str, Any]]:
    meshes = [blob(), cube(), *(bumpy(seed) for seed in range(N_OBJECTS - 2))]
    rows = []
    for count in (None, 10):
        correlations, automatic, dims, eigenmaps = [], [], [], []
        for seed, mesh in enumerate(meshes):
            images, angle = views(mesh, seed)
            points = images if count is None else components(images, count)
            correlations.append(circular_correlation(fitted(points, 1), angle))
            est = fitted(points, "auto")
            automatic.append(circular_correlation(est, angle) if est.dim_ == 1 else 0.0)
            dims.append(est.dim_)
            eigenmaps.append(eigenmaps_angle(points, angle))
        rows.append(
            {
                "images": f"{N_VIEWS} views of each of {N_OBJECTS} turning objects",
                "of": "pixels" if count is None else f"{count} components",
                "objects with circular correlation above .9": int(
                    (np.array(correlations) > 0.9).sum()
                ),
                "median": float(np.median(correlations)),
                "above .9 with the dimension found": int((np.array(automatic) > 0.9).sum()),
                "dimension found": int((np.array(dims) == 1).sum()),
                "Laplacian eigenmaps": int((np.array(eigenmaps) > 0.9).sum()),
            }
        )
    return rows


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rendered", description=__doc__)
    parser.add_argument("--out", type=Path, help="another folder than benchmarks/results")
    given = parser.parse_args(arguments)
    for name, title, rows in (
        (
            "rendered_poses",
            "Poses and light of rendered objects, dim = 3 told to both",
            pose_rows(),
        ),
        ("rendered_views", "Views of turning objects, dim = 1 told", view_rows()),
    ):
        write_table(name, title, rows, given.out)


if __name__ == "__main__":
    main()
