"""Cards inside a page: every score of geodis has one, and none twice."""

import re

import numpy as np
import pytest

import geodis as gd
from geodis.report.page.score_cards import CARDS, cards_markup, cards_of
from geodis.scores.registry import entries

MARGIN = 0.03  # beyond the ends of 20 tables


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


# Noise of 5,000 rows, 10 latents and 5 factors, of a seed that the cards were not made on.
@pytest.mark.parametrize("sizes", [(4,) * 5, (10,) * 5, (3, 4, 5, 6, 8)])
def test_chance_on_the_cards_is_what_noise_gives(sizes):
    rng = np.random.default_rng(100)
    factors = np.column_stack([rng.integers(size, size=5000) for size in sizes])
    latents = rng.standard_normal((5000, 10))
    names = ["t_mex", "irs", "modularity", "infomec", "axis_orientation"]
    found = gd.score_latents(latents, factors, names, chance=0, verbose=0, random_state=0)
    said = {entry.name: entry.card.chance for entry in entries() if entry.name in names}
    equal = len(set(sizes)) == 1
    for row, name, which in [
        ("t_mex", "t_mex", 0),
        ("irs", "irs", 0),
        ("modularity", "modularity", 0 if equal else 1),
        ("infom", "infomec", 0),
        ("infoc", "infomec", 1),
        ("axis_orientation", "axis_orientation", 0),
    ]:
        low, high = re.findall(r"(0\.\d+) to (0\.\d+)", said[name])[which]
        assert float(low) - MARGIN < found[row] < float(high) + MARGIN, row


def test_shifts_and_scales_move_sap_as_its_card_says():
    card = next(entry.card for entry in entries() if entry.name == "sap")
    assert "shifts and scales" in card.blind
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(2000, 3))
    own = np.column_stack([factors[:, 0], factors[:, 1] + factors[:, 2], factors[:, 2]])
    latents = np.column_stack([own + 0.4 * rng.standard_normal(own.shape), rng.normal(size=2000)])
    value, shifted, small = (
        gd.scores.sap(z, factors, random_state=0).value
        for z in (latents, latents + 10, latents / 10)
    )
    assert value - 0.2 < min(shifted, small) < max(shifted, small) < value - 0.05
