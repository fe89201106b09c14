"""The zoo's results as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from benchmarks.zoo_cases.case import HALVES
from benchmarks.zoo_cases.judge import OUTCOMES

Row: TypeAlias = dict[str, Any]


def report(rows: list[Row], about: str) -> str:
    """The whole page."""
    parts = [
        "# The zoo: what fits say about cases with a known truth",
        about,
        "## Confusion table",
        confusion(rows),
        *(claims(rows, half) for half in HALVES),
        "## Graded strength",
        "Recognised: the one factor, or at least flagged. Claimed: several factors, not flagged.",
        graded(rows),
        "## Wrong and silent, and crashes",
        failures(rows),
        "## Families",
        families(rows),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def table(header: Iterable[Any], lines: Iterable[Iterable[Any]]) -> str:
    """A Markdown table."""
    cells = [list(map(str, line)) for line in (header, *lines)]
    cells.insert(1, ["---"] * len(cells[0]))
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def counts(rows: list[Row]) -> list[int]:
    return [sum(row["outcome"] == outcome for row in rows) for outcome in OUTCOMES]


def share(part: int, total: int) -> str:
    return f"{part} of {total}" + (f" ({part / total:.1%})" if total else "")


def confusion(rows: list[Row]) -> str:
    """The six counts of each half, with the shares that are asked for."""
    lines = []
    for half in (*HALVES, "all"):
        own = [row for row in rows if half in (row["half"], "all")]
        found = dict(zip(OUTCOMES, counts(own), strict=True))
        # Real data have no known truth: what is said of them is never right, only not wrong.
        known = dict(zip(OUTCOMES, counts([row for row in own if not row["real"]]), strict=True))
        right = known["right, silent"] + known["right, flagged"]
        lines.append(
            [
                half,
                len(own),
                *found.values(),
                f"{found['wrong, silent'] / max(len(own), 1):.1%}",
                f"{known['right, flagged'] / max(right, 1):.1%}",
            ]
        )
    return table(
        ["half", "cases", *OUTCOMES, "wrong and silent", "flagged of what is right"], lines
    )


def claims(rows: list[Row], half: str) -> str:
    """How many unflagged claims of several factors are wrong."""
    own = [row for row in rows if row["half"] == half and claimed(row)]
    wrong = sum(row["outcome"] == "wrong, silent" for row in own)
    loose = sum(row["outcome"] == "dimensions only" for row in own)
    return (
        f"{half.capitalize()}: of the unflagged claims of more than one factor "
        f"{share(wrong, len(own))} are wrong, and {loose} right in dimensions only."
    )


def claimed(row: Row) -> bool:
    """Whether more than one factor is claimed without a flag."""
    return len(row["dims"]) > 1 and not row["flagged"] and row["crash"] is None


def graded(rows: list[Row]) -> str:
    """Each graded family by strength."""
    graded_rows = [row for row in rows if row["strength"] is not None]
    keys = dict.fromkeys((row["family"], row["strength"]) for row in graded_rows)
    lines = []
    for name, strength in keys:
        own = [row for row in graded_rows if (row["family"], row["strength"]) == (name, strength)]
        lines.append(
            [
                name,
                own[0]["half"],
                f"{strength:g}",
                len(own),
                number(own, lambda row: row["flagged"]),
                number(own, lambda row: row["flagged"] or len(row["dims"]) == 1),
                number(own, claimed),
                ", ".join(written(row) for row in own),
            ]
        )
    header = ["family", "half", "strength", "cases", "flagged", "recognised", "claimed", "answers"]
    return table(header, lines)


def number(rows: list[Row], condition: Callable[[Row], bool]) -> int:
    return sum(bool(condition(row)) for row in rows)


def written(row: Row) -> str:
    """An answer in a few characters, with a question mark where it is flagged."""
    if row["crash"] is not None:
        return "crash"
    dims = " + ".join(map(str, row["dims"])) if row["dims"] else "refused"
    return dims + ("?" if row["flagged"] else "")


def failures(rows: list[Row]) -> str:
    """The wrong and silent and the crashed by name."""
    lines = [
        [row["half"], row["name"], row["outcome"], row["crash"] or written(row), wanted(row)]
        for row in rows
        if row["outcome"] in ("wrong, silent", "crash")
    ]
    if not lines:
        return "None."
    return table(["half", "case", "outcome", "answer", "right"], lines)


def wanted(row: Row) -> str:
    """The answers that are right."""
    if row["real"]:
        return "one factor, or flagged"
    return " or ".join(" + ".join(map(str, dims)) for dims in row["accepted"]) or "to be flagged"


def families(rows: list[Row]) -> str:
    """The six counts of every family."""
    lines = []
    for name in dict.fromkeys(row["family"] for row in rows):
        own = [row for row in rows if row["family"] == name]
        cpu = sum(row["cpu"] for row in own)
        lines.append([own[0]["group"], name, own[0]["half"], len(own), *counts(own), f"{cpu:.1f}"])
    return table(["group", "family", "half", "cases", *OUTCOMES, "CPU s"], lines)
