"""The page of cards of all scores, made from their docstrings and decorators.

A hook of MkDocs. The page is in the repository, where reports link to it; a test says when it is
behind: `python docs/score_cards.py` writes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "pages" / "score_cards.md"

HEAD = """# Cards of the scores

One card a score: what it rewards, what it cannot see or takes for something else, from which value
to which it goes, what latents that have nothing to do with the factors get, and what it costs for
5,000 rows, 10 latents and 5 factors. Everything comes from the docstring and the decorator of the
function. Where chance is a range, it is from the least to the most of at least 20 tables of
independent normal latents and uniform factors, of that size unless the card says otherwise; only
the ranges of `t_mex`, `irs`, `modularity`, `infomec` and `axis_orientation` were measured so. What
is said of defects was measured by [metric agreement](results/metric_agreement/results.md); which
score answers which question is on [its own page](which_score.md).

Scores marked *by name* run only when they are named: `gd.score_latents(z, v, ["snc"])`.
"""

FOOT = """
## What is left out, and why

- **TopDis** (Balabin et al. 2023) is a term of a loss, not a score: it shifts one latent of a batch
  by an eighth of its quantiles, decodes both batches, and adds the lengths of the bars by which the
  topology of the two clouds of images differs (the published code: BetaVAE_TopDis of its first
  author, 2ca9d2e). It needs the decoder, has no factors, no range and no level of chance, and the
  paper itself judges its models by `mig`, `factor_vae`, `sap` and `dci`.
- **EDI** (Julka, Wang and Granitzer 2024) is here as the published code of its second author has
  it, where it is called DCII; whether the paper differs from that code in a detail is not known.
- **NK**, the second score of Mahon et al. (2023), is what a network trained anew without one latent
  loses in accuracy: it depends on that network. Their first, `snc`, is here.
"""


def on_pre_build(config: Any) -> None:
    """Write the page before the others are collected."""
    write_cards(PAGE)


def write_cards(path: Path) -> None:
    """Write the page where it has changed."""
    text = cards_page()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def cards_page() -> str:
    """The page: a heading a question, then scores without factors."""
    from geodis.scores.card import QUESTIONS
    from geodis.scores.registry import entries

    lines = [HEAD]
    for question, title in [*QUESTIONS.items(), ("", "Without factors")]:
        lines.append(f"## {title}\n")
        for entry in entries():
            if entry.card is None:
                continue
            asked = [entry.card.question(row) for row in entry.row_names]
            if (asked[0] if asked else "") == question:
                lines += card_lines(entry)
    return "\n".join(lines).rstrip() + "\n" + FOOT


def card_lines(entry: Any) -> list[str]:
    """One card as Markdown."""
    card = entry.card
    rows = [row for row in entry.row_names if row != entry.name]
    others = {row: card.question(row) for row in rows}
    named = f"`{entry.name}`" + ("" if entry.default else " *(by name)*")
    function = entry.function
    of = f"[{function.__name__}](api/scores.md#{function.__module__}.{function.__qualname__})"
    parts = [
        ("Rewards", card.rewards),
        ("Cannot see", card.blind),
        ("Range", card.scale + (", lower is better" if entry.lower_is_better else "")),
        ("By chance", card.chance),
        ("Costs", entry.cost.text),
        ("From", f"{card.source}; {of}"),
    ]
    if card.shapes:
        parts.insert(4, ("Factors of any shape", card.shapes))
    if rows:
        told = ", ".join(
            f"`{row}`" + (f" ({asked})" if asked else "") for row, asked in others.items()
        )
        parts.insert(0, ("Rows", told))
    return [f"### {named}\n", *(f"- **{name}:** {text}" for name, text in parts), ""]


if __name__ == "__main__":
    write_cards(PAGE)
