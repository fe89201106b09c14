"""Rendered images with pixel noise: one object in poses and lights, and turning once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.recording_cases.recording import Recording, recordings
from benchmarks.rendered import N_VIEWS, bumpy, poses, rendered, views
from benchmarks.zoo_cases.clouds import Cloud
from geodis.data.scenes.meshes import Mesh, blob, cube

MANY_VIEWS = 1000
MESHES: dict[str, Any] = {"blob": blob, "cube": cube}
# Of a pixel between 0 and 1; images of few pixels in a row vary by about a tenth.
PIXEL_NOISE = (0.0, 0.05)


def mesh_of(name: str) -> Mesh:
    return MESHES[name]() if name in MESHES else bumpy(int(name.rsplit(" ", 1)[1]))


def with_noise(images: np.ndarray, sigma: float, seed: int) -> Cloud:
    return Cloud(images + sigma * np.random.default_rng([seed, 7]).standard_normal(images.shape))


def posed(name: str, sigma: float, seed: int) -> Cloud:
    return with_noise(poses(mesh_of(name), seed)[0], sigma, seed)


def turned_once(name: str, count: int, sigma: float, seed: int) -> Cloud:
    mesh = mesh_of(name)
    if count == N_VIEWS:
        return with_noise(views(mesh, seed)[0], sigma, seed)
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi, count)
    turns = Rotation.from_rotvec([0.35, 0, 0]) * Rotation.from_rotvec(angle[:, None] * [0, 1, 0])
    lights = np.tile([0.3, 0.5, 0.8], (count, 1))
    return with_noise(rendered(mesh, turns.as_matrix(), lights), sigma, seed)


def poses_of(*names: str) -> Iterator[Recording]:
    """Two angles and a light: parameters that are no metric product, so any split is accepted."""
    for name in names:
        for sigma in PIXEL_NOISE:
            yield Recording(
                f"{name}, noise {sigma:g}",
                partial(posed, name, sigma),
                ((1, 1, 1), (2, 1), (3,)),
                dims=(3,),
                slow=True,
            )


def views_of(*names: str) -> Iterator[Recording]:
    for name in names:
        for count, sigma in ((MANY_VIEWS, 0.0), (MANY_VIEWS, 0.05), (N_VIEWS, 0.0)):
            yield Recording(
                f"{name}, {count:,} views, noise {sigma:g}",
                partial(turned_once, name, count, sigma),
                ((1,),),
                dims=(1,),
                slow=True,
            )


@recordings("pictures: poses and light", "tuning")
def first_poses() -> Iterator[Recording]:
    yield from poses_of("blob", "bumps of seed 1")


@recordings("pictures: poses and light of others", "held-out")
def other_poses() -> Iterator[Recording]:
    yield from poses_of("bumps of seed 3", "bumps of seed 8")


@recordings("pictures: a turn", "tuning")
def first_turns() -> Iterator[Recording]:
    yield from views_of("blob", "bumps of seed 0", "bumps of seed 2")


@recordings("pictures: a turn of others", "held-out")
def other_turns() -> Iterator[Recording]:
    yield from views_of("bumps of seed 4", "bumps of seed 5", "bumps of seed 6")
