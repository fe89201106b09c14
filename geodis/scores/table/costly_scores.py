"""Scores that a report leaves out of wide arrays, where they would take minutes."""

from __future__ import annotations

from collections.abc import Sequence

from geodis.base.text import listed

# Models have fewer latents. Above this many, the time grows with rows times latents times factors.
MANY_LATENTS, MOST_NUMBERS = 100, 1_000_000


def left_out(shape: tuple[int, ...], n_factors: int, asked: Sequence[str] | None) -> list[str]:
    """Scores that latents of this shape are not given, unless somebody asked for scores.

    Examples
    --------
    >>> left_out((10_000, 100), 5, None), left_out((900, 1728), 3, ["dci"])
    ([], [])
    >>> left_out((900, 1728), 3, None)[:3]
    ['infomec', 'sap', 'dci']
    """
    from geodis.scores.registry import choose_scores

    n, z = shape
    if asked is not None or z <= MANY_LATENTS or n * z * n_factors <= MOST_NUMBERS:
        return []
    return [entry.name for entry in choose_scores(None) if entry.cost.many_latents]


def scores_to_compute(
    shape: tuple[int, ...], n_factors: int, asked: Sequence[str] | None
) -> list[str] | None:
    """Names for `score_latents`: those that were asked for, or all but what is left out."""
    from geodis.scores.registry import choose_scores

    slow = left_out(shape, n_factors, asked)
    if not slow:
        return None if asked is None else list(asked)
    return [entry.name for entry in choose_scores(None) if entry.name not in slow]


def left_out_sentence(names: Sequence[str], n_latents: int) -> str:
    """Which scores were left out, why, and how to have them; nothing where none was."""
    if not names:
        return ""
    return (
        f"Left out, for of {n_latents:,} latents they take minutes: {listed(names)}; ask for them "
        f"by name (--only {names[0]}, or scores=[...] in Python)."
    )
