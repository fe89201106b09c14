"""Numbers that `analyses.loss_kernels` has to meet: published, and computed by other software."""

from __future__ import annotations

Cells = tuple[float | None, ...]

# Linear and rank correlation along factors, then at random.
COLUMNS = ("factor_pearson", "factor_spearman", "random_pearson", "random_spearman")

# Table 6.1 of Michlo (2022): two decimals, pairs of an image with itself among them.
TABLE_6_1: dict[str, Cells] = {
    "mse": (0.52, 0.58, 0.55, 0.36),
    "gaussian r31": (0.84, 0.88, 0.73, 0.61),
    "box r31": (0.96, 0.97, 0.95, 0.94),
    "published kernel r31": (0.97, 0.98, 0.96, 0.96),
    "published kernel r63": (1.00, 0.99, 1.00, 1.00),
}
# The same cells from the published kernels by the study's own software, with such pairs and
# without them. Without them nothing is left to order along a factor by the mean squared error.
RECOMPUTED: dict[str, tuple[Cells, Cells]] = {
    "mse": ((0.52223, 0.58038, 0.55598, 0.36581), (None, None, 0.24649, 0.23219)),
    "gaussian r31": ((0.84196, 0.87913, 0.72489, 0.61486), (0.77454, 0.81889, 0.59574, 0.57618)),
    "box r31": ((0.95654, 0.97274, 0.94523, 0.93541), (0.94157, 0.95918, 0.92509, 0.92892)),
    "published kernel r31": (
        (0.96670, 0.97767, 0.96492, 0.95967),
        (0.95393, 0.96658, 0.95398, 0.95561),
    ),
    "published kernel r63": (
        (0.99858, 0.98795, 0.99934, 0.99811),
        (0.99995, 0.98199, 0.99971, 0.99792),
    ),
}
HALF_A_DIGIT = 0.005  # of two decimals


def beyond_rounding(ours: float, published: float) -> float:
    """How far a number is from all those that round to the published one.

    Examples
    --------
    >>> beyond_rounding(0.724, 0.72), round(beyond_rounding(0.724, 0.73), 6)
    (0.0, 0.001)
    """
    return max(abs(ours - published) - HALF_A_DIGIT, 0.0)
