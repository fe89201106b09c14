"""Cards inside a page: every score of geodis has one, and none twice."""

import re

import pytest

from geodis.report.page.score_cards import CARDS, cards_markup, cards_of
from geodis.scores.registry import entries


def test_every_row_of_every_score_has_its_card():
    rows = [row for entry in entries() for row in entry.row_names]
    cards = cards_of([*rows, "downstream_logistic_100", "no such score"])
    assert set(cards) == {*rows, "downstream_logistic_100"}
    assert cards["downstream_logistic_100"].name == "downstream_logistic"
    assert all(card.facts["cannot see"] and card.url.startswith(CARDS) for card in cards.values())


def test_each_card_stands_once_whatever_rows_there_are():
    text = cards_markup(cards_of(["dci_completeness", "dci_disentanglement", "mig"]).values())
    assert re.findall(r'id="(card-\w+)"', text) == ["card-dci", "card-mig"]


@pytest.mark.parametrize(("docs", "page"), [
    ("", CARDS), ("https://a.b/docs/", "https://a.b/docs/score_cards.html"),
    ("../site", "../site/score_cards.html"),
])  # fmt: skip
def test_links_go_to_the_documentation_that_was_named(docs, page):
    assert cards_of(["mig"], docs)["mig"].url == f"{page}#mig"
