"""Coordinates and holes that methods find in recordings, as Markdown."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from benchmarks.recording_cases.factor_rivals import CLOCK, TIMED
from benchmarks.recording_cases.known_states import WALKS, named
from benchmarks.zoo_cases.tables import Row, share, table

OURS, TOLD = "GeoManCER", "GeoManCER, dim told"
# A factor is told from this R^2 on, and apart from the others where they are told to no more.
SUFFICIENT, LEAKED = 0.9, 0.2
RING = 0.9  # circular correlation
Rule: TypeAlias = tuple[str, float]
Way: TypeAlias = tuple[str, Rule]  # on which columns, and how bars are counted
RULES: list[Rule] = [
    *(("ratio", least) for least in (1.3, 1.5, 1.75, 2.0, 2.25, 2.5, 3.0, 4.0)),
    *(("gap", least) for least in (1.3, 1.5, 1.75, 2.0, 3.0)),
]
SAID = {
    "ratio": "bars that die at {:g} times their birth or later",
    "gap": "bars before the largest gap of lifetimes, if it is {:g} times or more",
}


def needs_time(method: str) -> bool:
    return method == CLOCK or method.startswith(TIMED)


def methods_of(rows: list[Row], timed: bool = False) -> list[str]:
    """Those that give coordinates, ours first; those that need rows in time only if asked for."""
    named = dict.fromkeys(
        name
        for row in rows
        for name, own in row["methods"].items()
        if "R2" in own and (timed or not needs_time(name))
    )
    return sorted(named, key=lambda name: not name.startswith(OURS))


def told(own: Row) -> bool:
    return own["R2"] >= SUFFICIENT


def apart(own: Row) -> bool:
    return told(own) and own["leaked"] <= LEAKED


def coordinates(rows: list[Row]) -> str:
    """A line a method."""
    lines = []
    for method in methods_of(rows):
        own = [(row, row["methods"][method]) for row in rows if method in row["methods"]]
        one, several = ([o for r, o in own if (len(r["spaces"]) > 1) == many] for many in (0, 1))
        rings = [o.get("ring") or 0.0 for r, o in own if "ring" in r["spaces"]]
        lines.append(
            [
                method,
                share(sum(map(told, one)), len(one)),
                share(sum(map(told, several)), len(several)),
                share(sum(map(apart, several)), len(several)),
                f"{np.median([o['R2'] for _, o in own]):.3f}",
                share(sum(value > RING for value in rings), len(rings)),
                "" if method == TOLD else f"{np.median([o['cpu'] for _, o in own]):.1f}",
            ]
        )
    header = [
        "method",
        "one factor: told",
        "several: all told",
        "several: told apart",
        "median R^2 of the worst factor",
        "rings with their angle",
        "median CPU s",
    ]
    return table(header, lines)


def by_family(rows: list[Row]) -> str:
    """Cases told and apart of every family, and the median R^2 of the worst factor."""
    methods = methods_of(rows)
    lines = []
    for name in dict.fromkeys(row["family"] for row in rows):
        own = [row for row in rows if row["family"] == name]
        cells = []
        for method in methods:
            found = [row["methods"][method] for row in own if method in row["methods"]]
            median = np.median([one["R2"] for one in found]) if found else np.nan
            cells.append(f"{sum(map(apart, found))} ({median:.2f})")
        lines.append([name, len(own), *cells])
    return table(["family", "cases", *methods], lines)


def in_order_of_time(rows: list[Row]) -> str:
    """R^2 and angles of walks, one after the other, with the methods that learn from time."""
    rows = [row for row in rows if row["family"] in WALKS]
    if not rows:
        return "ratinabox is not installed."
    lines = []
    for method in methods_of(rows, timed=True):
        found = {
            name: [
                row["methods"][method]
                for row in rows
                if row["family"] == name and method in row["methods"]
            ]
            for name in WALKS
        }
        rings = [own.get("ring") or 0.0 for own in found[WALKS[0]]]
        each = [[own["R2"] for own in found[name]] for name in WALKS]
        seconds = [own["cpu"] for all_own in found.values() for own in all_own]
        lines.append(
            [
                method,
                *(", ".join(f"{value:.3f}" for value in values) for values in (*each, rings)),
                "" if method == TOLD else f"{np.median(seconds):.1f}",
            ]
        )
    head = ["method", "head direction: R^2", "place: R^2", "head direction: angle", "walks: CPU s"]
    return table(head, lines)


def counted(bars: list[list[float]], rule: Rule) -> int:
    """Bars that die at so many times their birth, or those before the largest gap of lifetimes."""
    kind, least = rule
    if kind == "ratio":
        return sum(death >= least * birth for birth, death in bars)
    lives = np.array(sorted((death - birth for birth, death in bars), reverse=True))
    if len(lives) < 2:
        return len(lives)
    gaps = lives[:-1] / lives[1:]
    return int(gaps.argmax()) + 1 if gaps.max() >= least else 0


def best_way(rows: list[Row], degree: int) -> Way:
    """The setting and rule with which most Betti numbers of a degree are right."""
    settings = next(iter(rows))["methods"]["ripser"]["bars"]

    def right(way: Way) -> int:
        return sum(holes_right(row, degree, way) for row in rows)

    return max(((setting, rule) for setting in settings for rule in RULES), key=right)


def holes_right(row: Row, degree: int, way: Way) -> bool:
    """Whether so many bars of a degree are counted as there are holes."""
    setting, rule = way
    bars = row["methods"]["ripser"]["bars"][setting][str(degree)]
    return counted(bars, rule) == row["betti"][degree - 1]


def named_rightly(row: Row, method: str) -> bool:
    return named(row["spaces"], row["methods"].get(method, {}).get("names", ["unknown"]))


def named_wrongly(row: Row) -> bool:
    """Names that are wrong, none of them unknown, and a fit that is not flagged."""
    own = row["methods"][OURS]
    said = "unknown" not in own.get("names", ["unknown"]) and not own["flagged"]
    return said and not named_rightly(row, OURS)


def topology(rows: list[Row]) -> str:
    """Names by GeoManCER beside Betti numbers by ripser, by family."""
    rows = [row for row in rows if "ripser" in row["methods"] and OURS in row["methods"]]
    if not rows:
        return "ripser is not installed."
    tuning = [row for row in rows if row["half"] == "tuning"] or rows
    ways = [best_way(tuning, degree) for degree in (1, 2)]
    lines: list[list[Any]] = []
    families = dict.fromkeys(row["family"] for row in rows)
    for name in [*families, "all"]:
        own = [row for row in rows if name in (row["family"], "all")]
        first = [holes_right(row, 1, ways[0]) for row in own]
        both = [one and holes_right(row, 2, ways[1]) for one, row in zip(first, own, strict=True)]
        names = [named_rightly(row, OURS) for row in own]
        given = [named_rightly(row, TOLD) for row in own]
        wrong = [named_wrongly(row) for row in own]
        numbers = ", ".join(map(str, own[0]["betti"])) if name != "all" else ""
        lines.append(
            [name, len(own), numbers, sum(first), sum(both), sum(names), sum(given), sum(wrong)]
        )
    header = [
        "family",
        "cases",
        "b1, b2",
        "ripser: b1 right",
        "ripser: both right",
        "GeoManCER: all factors named rightly",
        "the same, dim told",
        "named wrongly, not flagged",
    ]
    said = " and ".join(f"{SAID[kind].format(least)} ({on})" for on, (kind, least) in ways)
    return (
        f"Of degree one and two count {said}: of {len(RULES)} rules on all kept directions "
        "and on the first of them those that are right oftenest in the tuning half.\n\n"
        + table(header, lines)
    )


def differences(rows: list[Row]) -> str:
    """Cases in which a method of others tells all factors apart and GeoManCER does not."""
    lines = []
    for row in rows:
        own = row["methods"].get(OURS)
        if own is None or apart(own):
            continue
        better = [
            f"{name} ({other['R2']:.2f})"
            for name, other in row["methods"].items()
            if "R2" in other and not name.startswith(OURS) and apart(other)
        ]
        said = f"{own.get('found', 'nothing')}{'?' if own.get('flagged') else ''}"
        with_dim = row["methods"].get(TOLD, {"R2": 0.0, "leaked": 0.0})
        lines.append(
            [
                row["name"],
                said,
                f"{own['R2']:.2f}, {own['leaked']:.2f}",
                f"{with_dim['R2']:.2f}, {with_dim['leaked']:.2f}",
                ", ".join(better) or "nobody",
            ]
        )
    head = ["recording", "GeoManCER", "R^2, leaked", "dim told", "who tells them apart"]
    return table(head, lines) if lines else "Nowhere."


def report(rows: list[Row]) -> str:
    """The whole page."""
    return "\n\n".join(
        [
            "# Factors of recordings with known states",
            f"{len(rows)} recordings. Told: R^2 of every true factor of at least {SUFFICIENT} for "
            "held-out rows, by the rows beside them in the coordinates that belong to the factor. "
            f"Apart: the same coordinates tell no other factor to more than {LEAKED}. Rings: "
            f"circular correlation above {RING}, of the worst ring. Others are told how many "
            "coordinates there are, their columns are split as the truth would like best, and the "
            "best setting counts in every case.",
            coordinates(rows),
            "## Told apart, by family (median R^2 of the worst factor)",
            by_family(rows),
            "## Walks, whose rows are in the order of time",
            "Recordings with peaks of 4, 10 and 30, one row a second; seconds are of all settings "
            "of a method. CEBRA-Time takes rows that follow each other so many seconds apart for "
            "alike; populations have no order, so it is not asked there. Time alone: from the "
            "number of the row.",
            in_order_of_time(rows),
            "## Which space it is",
            topology(rows),
            "## Where GeoManCER does not tell the factors apart",
            "A question mark: the fit is flagged.",
            differences(rows),
        ]
    )
