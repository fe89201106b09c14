"""Perfect codes of factors of several shapes: circles, spheres, and factors that depend."""

from __future__ import annotations

import numpy as np

import geodis as gd

SHAPES = {
    "numbers": "three numbers, a latent each",
    "circle": "an angle as (cos, sin) in two latents that are one group, and a number",
    "sphere": "a direction in three latents that are one group, and a number",
    "dependent": "three classes, each equal to the one before in seven of ten rows, a latent each",
}


def shaped_code(
    shape: str, n: int, seed: int
) -> tuple[np.ndarray, gd.Factors, list[list[int]] | None]:
    """Latents (n, z), factors and groups of latents; every latent with a little noise.

    Parameters
    ----------
    shape : str
        Of `SHAPES`.
    n, seed : int
    """
    random = np.random.default_rng((seed, 19))
    number = random.uniform(-1, 1, n)
    groups: list[list[int]] | None = None
    if shape == "circle":
        angle = random.uniform(0, 2 * np.pi, n)
        known = gd.as_factors({"angle": angle, "number": number}, periods={"angle": 2 * np.pi})
        code, groups = np.column_stack([np.cos(angle), np.sin(angle), number]), [[0, 1], [2]]
    elif shape == "sphere":
        normal = random.standard_normal((n, 3))
        points = normal / np.linalg.norm(normal, axis=1)[:, None]
        columns = {**dict(zip("xyz", points.T, strict=True)), "number": number}
        known = gd.as_factors(columns, groups={"direction": list("xyz")})
        code, groups = np.column_stack([points, number]), [[0, 1, 2], [3]]
    elif shape == "dependent":
        classes = random.integers(5, size=(n, 3))
        for j in (1, 2):
            same = random.uniform(size=n) < 0.7
            classes[same, j] = classes[same, j - 1]
        known, code = gd.as_factors(classes, names=["a", "b", "c"]), classes / 2.0
    else:
        numbers = random.uniform(-1, 1, (n, 3))
        known, code = gd.as_factors(numbers, names=["a", "b", "c"]), numbers
    return code + 0.01 * random.standard_normal(code.shape), known, groups
