"""Dimensions that methods find, as Markdown: shares, verdicts, families, who wins where."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from benchmarks.recording_cases.dimension_rivals import OF
from benchmarks.zoo_cases.case import HALVES
from benchmarks.zoo_cases.tables import Row, share, table

OURS = "geodis"
VERDICTS = ("clear", "doubtful", "undecided")
WITHIN = {True: "within", False: "beyond"}
# Methods whose answers stand in the table of families.
MOST_IN_FAMILIES = 6


def right(row: Row, answer: str) -> bool:
    """Whether the nearest whole number is a right dimension."""
    value = row["found"].get(answer)
    return value is not None and round(value) in row["dims"]


def method_of(answer: str) -> str:
    return answer.split(OF)[0]


def setting_of(answer: str) -> str:
    return answer.partition(OF)[2]


def packed(rows: list[Row]) -> Row:
    """Rows with their answers as lists, names once; an empty text where nothing was asked."""
    answers = list(dict.fromkeys(answer for row in rows for answer in row["found"]))
    lines = [
        {key: value for key, value in row.items() if key != "found"}
        | {"values": [row["found"].get(answer, "") for answer in answers]}
        for row in rows
    ]
    return {"answers": answers, "recordings": lines}


def unpacked(stored: Row) -> list[Row]:
    """The rows that were packed."""
    return [
        {key: value for key, value in line.items() if key != "values"}
        | {
            "found": {
                a: v for a, v in zip(stored["answers"], line["values"], strict=True) if v != ""
            }
        }
        for line in stored["recordings"]
    ]


def part(rows: Iterable[Row], half: str, within: bool) -> list[Row]:
    return [row for row in rows if (row["half"], row["within"]) == (half, within)]


def tried(rows: list[Row], method: str) -> list[Row]:
    """Rows that the method has an answer for, or a failure."""
    return [row for row in rows if any(method_of(answer) == method for answer in row["found"])]


def answers_of(rows: list[Row], method: str) -> list[str]:
    """Its settings, in the order in which they were tried; failures are none."""
    named = dict.fromkeys(answer for row in rows for answer in row["found"])
    return [a for a in named if method_of(a) == method and not setting_of(a).startswith("failed")]


def best(rows: list[Row], method: str) -> str:
    """The setting that is right oftenest, the first of equals."""
    counted = {a: sum(right(row, a) for row in rows) for a in answers_of(rows, method)}
    return max(counted, key=lambda answer: counted[answer])


def methods_of(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(method_of(answer) for row in rows for answer in row["found"]))


def chosen_settings(rows: list[Row]) -> dict[str, str]:
    """For every method the setting that is right oftenest in the tuning half, within."""
    return {
        method: best(part(tried(rows, method), HALVES[0], True) or rows, method)
        for method in methods_of(rows)
    }


def _share(rows: list[Row], answer: str) -> str:
    return share(sum(right(row, answer) for row in rows), len(rows)) if rows else ""


def shares(rows: list[Row], chosen: dict[str, str]) -> str:
    """A line a method: with its setting from the tuning half, and the best one afterwards."""
    lines = []
    for method, answer in chosen.items():
        own = tried(rows, method)
        last = part(own, HALVES[1], True)
        afterwards = best(last, method) if last else answer
        cpu = [row["cpu"][method] for row in own if method in row["cpu"]]
        lines.append(
            [
                method,
                setting_of(answer),
                *(_share(part(own, half, w), answer) for half in HALVES for w in (True, False)),
                f"{sum(right(row, afterwards) for row in last)}, {setting_of(afterwards)}"
                if afterwards != answer
                else "the same",
                f"{np.mean(cpu):.2f}" if cpu else "",
            ]
        )
    parts = [f"{half}, {WITHIN[w]}" for half in HALVES for w in (True, False)]
    head = ["method", "setting", *parts, "best setting of held-out, within", "CPU s"]
    return table(head, lines)


def verdicts(rows: list[Row]) -> str:
    """Right answers of geodis among those with every verdict."""
    lines = [
        [
            f"{half}, {WITHIN[within]}",
            *(
                f"{sum(right(row, OURS) for row in own if row['verdict'] == verdict)} of "
                f"{sum(row['verdict'] == verdict for row in own)}"
                for verdict in VERDICTS
            ),
        ]
        for half in HALVES
        for within in (True, False)
        for own in (part(rows, half, within),)
    ]
    return table(["half", *VERDICTS], lines)


def families(rows: list[Row], chosen: dict[str, str]) -> str:
    """Right answers by family: geodis, and the methods that are right oftenest."""
    everywhere = [m for m in chosen if len(tried(rows, m)) == len(rows) and m != OURS]
    counted = {m: sum(right(row, chosen[m]) for row in rows) for m in everywhere}
    shown = [OURS, *sorted(counted, key=lambda m: -counted[m])[:MOST_IN_FAMILIES]]
    lines = []
    for name in dict.fromkeys(row["family"] for row in rows):
        own = [row for row in rows if row["family"] == name]
        counts = [sum(right(row, chosen[m]) for row in own) for m in shown]
        lines.append([name, own[0]["half"], len(own), *counts])
    lines.append(["all", "", len(rows), *(sum(right(r, chosen[m]) for r in rows) for m in shown)])
    return table(["family", "half", "cases", *shown], lines)


def disagreements(rows: list[Row], chosen: dict[str, str]) -> str:
    """Against every method: cases that one of the two has right and the other not."""
    lines = []
    for method, answer in chosen.items():
        if method == OURS:
            continue
        own = tried(rows, method)
        lost = [row for row in own if right(row, answer) and not right(row, OURS)]
        lines.append(
            [
                method,
                sum(right(row, OURS) and not right(row, answer) for row in own),
                len(lost),
                sum(row["verdict"] == "clear" for row in lost),
            ]
        )
    head = ["method", "geodis alone right", "geodis alone wrong", "of these called clear"]
    return table(head, lines)


def failures(rows: list[Row], chosen: dict[str, str]) -> str:
    """Where geodis is wrong, with the methods that are right there."""
    lines = []
    for row in rows:
        if right(row, OURS):
            continue
        others = [
            f"{method} ({row['found'][answer]:.1f})"
            for method, answer in chosen.items()
            if method != OURS and right(row, answer)
        ]
        said = f"{row['found'][OURS]:g}, {row['verdict']}"
        dims = " or ".join(map(str, row["dims"]))
        lines.append([row["half"], row["name"], said, dims, ", ".join(others) or "nobody"])
    return table(["half", "recording", "geodis", "right", "who is right"], lines) if lines else ""


def report(rows: list[Row]) -> str:
    """The whole page."""
    chosen = chosen_settings(rows)
    return "\n\n".join(
        [
            "# Intrinsic dimension of recordings",
            f"{len(rows)} recordings whose dimension is known. Within: counts from a peak of 4 on "
            "and noise up to .1. An estimate is right where the nearest whole number is. Every "
            "method of others is shown with the setting, of those tried, that is right oftenest in "
            "the tuning half (within): of neighbourhoods, rules, and all columns or the "
            "directions that geodis keeps. The column before the last has what would have been "
            "best in the held-out half. geodis has one setting, its default. CPU s are those of "
            "one setting.",
            shares(rows, chosen),
            "## Verdicts of geodis: right of all with that verdict",
            "The others give a number, and no verdict.",
            verdicts(rows),
            "## Right, by family",
            families(rows, chosen),
            "## One against one",
            disagreements(rows, chosen),
            "## Where geodis is wrong",
            failures(rows, chosen) or "Nowhere.",
        ]
    )
