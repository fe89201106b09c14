"""Cards of scores inside a page: what a score rewards and cannot see, where its name is pressed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from geodis.report.page.markup import render_template
from geodis.scores.registry import ScoreEntry, entries

if TYPE_CHECKING:
    from markupsafe import Markup

# Where the whole cards are, unless a page is told of another address of the documentation.
CARDS = "https://github.com/geodis-learn/geodis-learn/blob/main/docs/pages/score_cards.md"


@dataclass(frozen=True)
class ShownCard:
    """A card as a page shows it.

    Attributes
    ----------
    name : str
        Of the score.
    facts : dict of str to str
        What there is to say, by its heading.
    url : str
        Where the documentation has it; empty for scores of other packages.
    """

    name: str
    facts: dict[str, str]
    url: str


def cards_of(rows: Iterable[str], docs: str = "") -> dict[str, ShownCard]:
    """Row of a table -> the card of its score, as far as there is one.

    Parameters
    ----------
    rows : iterable of str
    docs : str
        Address of the documentation, a folder; that of the project by default.

    Examples
    --------
    >>> cards = cards_of(["mig", "dci_completeness", "unknown"], "../docs")
    >>> list(cards), cards["mig"].url, cards["dci_completeness"].name
    (['mig', 'dci_completeness'], '../docs/score_cards.html#mig', 'dci')
    """
    known = {row: entry for entry in entries() for row in (entry.name, *entry.row_names)}
    wanted = {row: _entry_of(row, known) for row in rows}
    made = {entry.name: _shown(entry, docs) for entry in wanted.values() if entry and entry.card}
    return {row: made[entry.name] for row, entry in wanted.items() if entry and entry.card}


def cards_markup(cards: Iterable[ShownCard]) -> Markup:
    """All cards, each once: hidden until a button asks for it, and a list where none can."""
    distinct = {card.name: card for card in cards}
    return render_template("score_cards.html", cards=list(distinct.values()))


def _entry_of(row: str, known: dict[str, ScoreEntry]) -> ScoreEntry | None:
    """The score of a row; rows of sizes are named by what was learnt from."""
    while row and row not in known:
        row = row.rpartition("_")[0]
    return known.get(row)


def _shown(entry: ScoreEntry, docs: str) -> ShownCard:
    card = entry.card
    assert card is not None
    facts = {
        "rewards": card.rewards,
        "cannot see": card.blind,
        "range": card.scale + (", lower is better" if entry.lower_is_better else ""),
        "by chance": card.chance,
        "factors of any shape": card.shapes,
        "costs": entry.cost.text,
        "from": card.source,
    }
    return ShownCard(entry.name, {name: text for name, text in facts.items() if text},
                     _address(entry, docs))  # fmt: skip


def _address(entry: ScoreEntry, docs: str) -> str:
    """Where the whole card is; scores of other packages have none there."""
    if not entry.is_ours:
        return ""
    page = f"{docs.rstrip('/')}/score_cards.html" if docs else CARDS
    return f"{page}#{entry.name}{'' if entry.default else '-by-name'}"
