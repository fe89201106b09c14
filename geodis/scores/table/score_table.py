"""The result of `score_latents`: a table that prints, and everything it was made from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodis.base.text import counted, number_text
from geodis.base.write import to_jsonable, write_json
from geodis.scores.table.answers import TableAnswer, answer_lines, answers_of

if TYPE_CHECKING:
    import pandas as pd
from geodis.scores.score import Score

# A table of no more rows is read at a glance; longer ones begin with what they say together.
GLANCE = 10


def names_by_text(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Names by what is said of them.

    Examples
    --------
    >>> names_by_text({"mig": "binned", "sap": "binned"})
    {'binned': ['mig', 'sap']}
    """
    names: dict[str, list[str]] = {}
    for name, text in texts.items():
        names.setdefault(text, []).append(name)
    return names


@dataclass(frozen=True, eq=False, repr=False)
class ScoreTable(Mapping[str, float]):
    """What `score_latents` returns: a mapping of the names of rows to their values, and more.

    Attributes
    ----------
    frame : pandas.DataFrame
        One row a score, indexed by its name: ``family``, ``question`` (of its card: "information",
        "modularity", "completeness", "geometry", or ""), ``value``, ``chance`` (of permuted
        factors; NaN for scores without factors), ``low`` and ``high`` (NaN unless asked for),
        ``better`` ("higher" or "lower"), ``seconds``, ``note``.
    scores : mapping of str to Score
        The whole result of every function: matrices, parts by factor and by latent.
    skipped : mapping of str to str
        Scores that do not apply, and why.
    n, n_latents : int
        Rows and latents.
    factor_names : tuple of str
    seed : object
        The `random_state` it was made with.
    group_names : tuple of str
        Factors of several columns; `factor_names` are those of the columns.
    """

    frame: pd.DataFrame
    scores: Mapping[str, Score]
    skipped: Mapping[str, str]
    n: int
    n_latents: int
    factor_names: tuple[str, ...]
    seed: Any
    group_names: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> float:
        """Return the value of one row."""
        if name not in self.frame.index:
            why = self.skipped.get(name, f"rows are {', '.join(self.frame.index)}")
            raise KeyError(f"{name}: {why}")
        return float(self.frame.at[name, "value"])

    def __iter__(self) -> Iterator[str]:
        return map(str, self.frame.index)

    def __len__(self) -> int:
        return len(self.frame)

    # A table is more than its values: only itself is equal to it.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def values_by_name(self) -> dict[str, float]:
        """Row -> value."""
        return dict(self)

    @property
    def per_factor(self) -> pd.DataFrame:
        """Scores by factors, for the scores that have such parts; by columns and by groups."""
        import pandas as pd

        parts = {}
        for name, score in self.scores.items():
            named = self.factor_names if self._by_column(score) else score.factor_names
            if score.per_factor is not None and len(score.per_factor) == len(named):
                parts[name] = dict(zip(named, score.per_factor, strict=True))
        columns = [*self.factor_names, *self.group_names]
        return pd.DataFrame.from_dict(parts, orient="index", columns=columns)

    def _by_column(self, score: Score) -> bool:
        """Whether the parts of a score are of columns; grouped ones say their names."""
        return not set(score.factor_names) & set(self.group_names)

    @property
    def answers(self) -> list[TableAnswer]:
        """What the scores say together, question by question."""
        return answers_of(self.frame)

    def _columns(self) -> list[tuple[str, list[str]]]:
        """Titles and cells of what people read; the notes stand below."""
        frame = self.frame
        columns = [("score", list(map(str, frame.index)))]
        for title in ("value", "chance", "low", "high"):
            if title == "value" or frame[title].notna().any():
                columns.append((title, [number_text(x) for x in frame[title]]))
        lower = ["lower is better" if x == "lower" else "" for x in frame["better"]]
        return [*columns, ("", lower)] if any(lower) else columns

    def remarks(self) -> list[str]:
        """Notes on scores, and why scores were skipped; each sentence once."""
        notes = names_by_text({name: score.note for name, score in self.scores.items()})
        lines = [f"{', '.join(names)}: {note}" for note, names in notes.items() if note]
        reasons = names_by_text(self.skipped)
        return lines + [f"skipped {', '.join(names)}: {why}" for why, names in reasons.items()]

    def __str__(self) -> str:
        columns = self._columns()
        widths = [max(map(len, [title, *cells])) for title, cells in columns]
        latents = counted(self.n_latents, "latent")
        factors = counted(len(self.factor_names), "factor")
        if self.group_names:
            factors = f"{len(self.factor_names)} columns of factors ({', '.join(self.group_names)})"
        lines = [f"{counted(self.n, 'row')}, {latents}, {factors}", "", *self._answered()]
        table = [
            [title for title, _ in columns],
            *zip(*(cells for _, cells in columns), strict=True),
        ]
        families = ["", *self.frame["family"]]
        for i, row in enumerate(table):
            if i and families[i] != families[i - 1]:
                lines.append(families[i])
            cells = [
                cell.ljust(width) if j == 0 or not columns[j][0] else cell.rjust(width)
                for j, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  " + "  ".join(cells).rstrip())
        remarks = self.remarks()
        return "\n".join(lines + (["", *remarks] if remarks else []))

    __repr__ = __str__

    def _answered(self) -> list[str]:
        """What a long table says together, before its rows."""
        if len(self.frame) <= GLANCE or not (answered := answer_lines(self.frame)):
            return []
        width = max(len(question) for question, _ in answered)
        lines = [f"  {question:<{width}}  {answer}" for question, answer in answered]
        return ["From chance (0) to the best value (1), the median of what answers:", *lines, ""]

    def _repr_html_(self) -> str:
        return self.frame.drop(columns=["seconds"]).to_html(float_format=number_text, na_rep="")

    def to_markdown(self) -> str:
        """Return the table in Markdown, remarks below."""
        columns = self._columns()
        titles = [title for title, _ in columns]
        lines = ["| " + " | ".join(titles) + " |"]
        lines.append("|" + "|".join("---" if j == 0 else "--:" for j in range(len(titles))) + "|")
        lines += [
            "| " + " | ".join(row) + " |"
            for row in zip(*(cells for _, cells in columns), strict=True)
        ]
        remarks = [f"- {line}" for line in self.remarks()]
        return "\n".join(lines + (["", *remarks] if remarks else []))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        rows = self.frame.reset_index(names="score").to_dict("records")
        plain = {
            "n": self.n,
            "n_latents": self.n_latents,
            "factor_names": list(self.factor_names),
            "group_names": list(self.group_names),
            "answers": [asdict(answer) for answer in self.answers],
            "seed": self.seed if isinstance(self.seed, int) else None,
            "rows": rows,
            "skipped": dict(self.skipped),
            "scores": {name: score.to_dict() for name, score in self.scores.items()},
        }
        return to_jsonable(plain)

    def to_json(self, path: str | os.PathLike[str]) -> Path:
        """Write everything as JSON, whole or not at all; `agreement` reads such files."""
        return write_json(path, self.to_dict())
