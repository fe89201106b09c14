"""Scores are registered where they are written, ours and those of other packages."""

import inspect
import math
from pathlib import Path

import numpy as np
import pytest

import geodis as gd
from geodis import scores
from geodis.base.check import InputError
from geodis.scores.card import QUESTIONS, Card, read_card
from geodis.scores.registry import MODULES, choose_scores, entries, unregister_score


def nearest_agreement(latents, factors, *, random_state=None):
    """A score of another package: how often the nearest row has the same first factor."""
    distances = np.linalg.norm(latents[:, None] - latents, axis=2)
    np.fill_diagonal(distances, math.inf)
    codes = factors.values[:, 0]
    return float((codes[distances.argmin(axis=1)] == codes).mean())


@pytest.fixture
def registered():
    yield scores.register_score(family="neighbours", random=True)(nearest_agreement)
    unregister_score("nearest_agreement")


def sample(n=200):
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(n, 2))
    return factors + 0.1 * rng.standard_normal((n, 2)), factors


def test_ours_stand_in_the_order_of_the_modules():
    modules = [entry.function.__module__ for entry in entries()]
    assert list(dict.fromkeys(modules)) == list(MODULES)
    assert all(entry.is_ours for entry in entries())


def test_every_module_with_a_score_is_in_the_list():
    folder = Path(scores.__file__).parent
    written = {
        f"geodis.scores.{'.'.join(path.relative_to(folder).with_suffix('').parts)}"
        for path in folder.rglob("*.py")
        if "\n@register_score(" in path.read_text(encoding="utf-8")
    }
    assert written == set(MODULES)


def test_what_an_entry_takes_is_read_from_the_signature():
    by_name = {entry.name: entry for entry in entries()}
    assert by_name["block_r2"].takes_groups and by_name["block_r2"].random
    assert not by_name["mcc"].takes_groups and not by_name["mcc"].random
    assert by_name["windin"].takes_log_variances and not by_name["dci"].takes_log_variances


def test_what_summaries_show_is_there():
    ranks = [entry.shown.headline for entry in entries() if entry.shown.headline]
    assert sorted(ranks) == list(range(1, len(ranks) + 1))
    for entry in entries():
        assert entry.shown.best_factor in ("", *entry.row_names), entry.name
    [dci] = choose_scores("dci")
    assert dci.title_of("dci_completeness") == "DCI completeness"
    [snc] = choose_scores("snc")
    assert snc.title_of("snc") == "snc"


def test_a_score_of_another_package_is_a_row_with_a_chance_level(registered):
    assert registered is nearest_agreement  # the function itself
    assert [entry.name for entry in entries()][-1] == "nearest_agreement"
    table = gd.score_latents(*sample(), ["mig", "nearest_agreement"], intervals=3, verbose=False)
    line = table.frame.loc["nearest_agreement"]
    assert line["family"] == "neighbours" and line["value"] == 1
    assert line["chance"] == pytest.approx(0.25, abs=0.1)
    assert line["low"] <= 1 <= line["high"]
    assert float(table.scores["nearest_agreement"]) == 1
    assert "neighbours" in str(table)
    assert [entry.name for entry in choose_scores("neighbours")] == ["nearest_agreement"]


def test_every_score_of_ours_has_a_card_that_says_what_its_rows_answer():
    for entry in entries():
        assert entry.card is not None, entry.name
        for part in ("rewards", "blind", "scale", "chance", "source"):
            assert getattr(entry.card, part), (entry.name, part)
        assert entry.cost.text, entry.name
        asked = {row: entry.card.question(row) for row in entry.row_names}
        asked.pop("dci_es_size", None)  # counts latents, whatever they hold
        known = QUESTIONS if entry.needs_factors else {""}
        assert set(asked.values()) <= set(known), entry.name


SECTIONS = """Score of a test.

    Rewards
    -------
    One latent
    per factor.

    Rewards (variant)
    -----------------
    Two latents.

    Cannot see
    ----------
    Units.

    Source
    ------
    A paper, eq. 2
    """


def test_a_card_is_read_from_the_sections_of_a_docstring():
    card = read_card(SECTIONS, "plain", answers="completeness")
    assert card == Card("One latent per factor.", "Units.", "completeness", source="A paper, eq. 2")
    assert read_card(SECTIONS, "variant").rewards == "Two latents."
    text = SECTIONS.replace("Source", "Range\n    -----\n    up to 1\n\n    Source")
    assert read_card(text, "plain", shapes="").scale == "up to 1"


@pytest.mark.parametrize("title", ["Rewards", "Cannot see", "Source"])
def test_a_score_of_ours_needs_the_sections_of_a_card(title, monkeypatch):
    monkeypatch.setattr(nearest_agreement, "__module__", MODULES[0])
    monkeypatch.setattr(nearest_agreement, "__doc__", SECTIONS.replace(f"{title}\n", "Other\n"))
    with pytest.raises(InputError, match=f"nearest_agreement needs a section '{title}' .*; got"):
        scores.register_score(family="neighbours")(nearest_agreement)


def test_a_card_of_another_package_is_an_argument():
    card = Card("Order.", "Units.", "completeness")
    scores.register_score(family="neighbours", card=card)(nearest_agreement)
    try:
        assert choose_scores("nearest_agreement")[0].card == card
    finally:
        unregister_score("nearest_agreement")


def test_it_is_scored_in_processes_as_here(registered):
    names = ["mig", "nearest_agreement"]
    here = gd.score_latents(*sample(), names, verbose=False)
    there = gd.score_latents(*sample(), names, verbose=False, n_jobs=2)
    assert here.values_by_name == there.values_by_name


def test_a_name_is_registered_once(registered):
    message = r"needs a name of its own; got 'nearest_agreement', which is .*nearest_agreement\."
    with pytest.raises(InputError, match=message):
        scores.register_score(family="neighbours")(nearest_agreement)
    with pytest.raises(InputError, match=r"got 'mig', which is geodis\..*\.mig\."):
        scores.register_score("mig", family="information")(nearest_agreement)
    with pytest.raises(InputError, match="name must be that of a registered score; got 'elbo'"):
        unregister_score("elbo")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "information"}, "A score needs .* got 'information', which is a family of"),
        (
            {"name": "dci_completeness"},
            "A score needs .* 'dci_completeness', which is a row of dci",
        ),
        ({"name": "downstream_trees_efficiency"}, "which is a row of downstream_trees"),
        ({"name": "new", "rows": {"mig": ""}}, r"A row of a score .* 'mig', which is geodis.*mig"),
        ({"name": "new", "rows": {"dci_completeness": ""}}, "got .*, which is a row of dci"),
        ({"name": "new", "rows": {"ratios": ""}}, "got 'ratios', which is a family of scores"),
        (
            {"name": "new", "family": "mig"},
            r"A family of scores needs .* got 'mig', which is geodis",
        ),
    ],
)
def test_what_stands_in_the_table_has_one_meaning(given, message):
    before = entries()
    with pytest.raises(InputError, match=message):
        scores.register_score(**{"family": "neighbours", **given})(nearest_agreement)
    assert entries() == before


def test_one_function_has_variants(registered):
    plain, continuous = choose_scores(["sap", "sap_continuous"])
    assert plain.function is continuous.function is scores.sap
    assert not plain.options and continuous.options == {"continuous": True}


def test_plugins_are_loaded_when_scores_are_asked_for(monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr("geodis.scores.registry.load_plugins", asked.append)
    choose_scores(["mig"])
    assert asked == ["geodis.scores"]


def test_names_and_families_choose():
    assert [entry.name for entry in choose_scores("mig")] == ["mig"]
    chosen = {entry.name for entry in choose_scores(["unsupervised", "downstream_trees"])}
    assert "mutual_info_score" in chosen and "downstream_trees" in chosen
    assert "downstream_trees" not in {entry.name for entry in choose_scores(["predictive"])}
    with pytest.raises(InputError, match="names or families of scores; got elbo"):
        choose_scores(["mig", "elbo"])
    with pytest.raises(InputError, match="got none"):
        choose_scores([])


def test_public_names_are_functions_and_classes_not_modules():
    for name in scores.__all__:
        assert not inspect.ismodule(getattr(scores, name)), name


class UnhappyError(Exception):
    pass


def unhappy(latents, factors):
    raise UnhappyError("no luck today")


def by_chance(latents, factors):
    if not np.array_equal(np.asarray(factors)[:, 0], np.round(latents[:, 0])):
        raise UnhappyError("these rows do not belong together")
    return 1.0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_score_of_another_package_does_not_take_the_table_down(n_jobs):
    for function in (unhappy, by_chance):
        scores.register_score(family="others")(function)
    try:
        table = gd.score_latents(*sample(), ["mig", "others"], verbose=False, n_jobs=n_jobs)
    finally:
        for name in ("unhappy", "by_chance"):
            unregister_score(name)
    assert table.skipped == {"unhappy": "UnhappyError: no luck today"}
    assert table["mig"] > 0.5
    assert table["by_chance"] == 1 and np.isnan(table.frame.loc["by_chance", "chance"])


def test_a_fault_of_ours_is_seen(monkeypatch):
    [entry] = choose_scores(["mig"])

    def broken(self, *arguments, **options):
        raise UnhappyError("a fault")

    monkeypatch.setattr(type(entry), "compute", broken)
    with pytest.raises(UnhappyError, match="a fault"):
        gd.score_latents(*sample(), ["mig"], verbose=False)
