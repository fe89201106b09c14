"""Several runs on one page: the ranking, the same rows, names as text, whole or not at all."""

import json
import re
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import geodis as gd
from geodis.base.check import InputError
from geodis.distances.grid_distances import GROUND_TRUTH, LATENT
from geodis.report.comparison import compare as module
from geodis.report.comparison.comparison_sections import distances_of_runs_figure
from tests.report.example import HOSTILE


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    points = gd.product_manifold("S^2 x S^1", n=700, random_state=0).points
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    runs = {"plain": points, HOSTILE: points @ turn, "noise": rng.standard_normal((700, 2))}
    factors = gd.as_factors(
        {"height": points[:, 2], "angle": np.arctan2(points[:, 4], points[:, 3])}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gd.compare(runs, factors, out=tmp_path_factory.mktemp("c") / "out", n_resamples=4,
                          verbose=0)  # fmt: skip


def test_the_best_run_is_first_and_noise_last(compared):
    assert compared.ranking[0] == "plain" and compared.ranking[-1] == "noise"
    assert compared.summary[0].startswith("By mean rank") and len(compared.summary) == 4


def test_a_rotation_is_alike_and_noise_is_not(compared):
    for one in compared.similarities:
        assert one.matrix[0, 1] == pytest.approx(1) and one.matrix[0, 2] < 0.1


def test_nothing_is_less_than_nothing(compared):
    for text in (compared.path.read_text(), str(compared)):
        assert not re.search(r"(?<=[> (])-0\.0+\b", text)


def test_factors_that_were_found_agree_across_a_rotation(compared):
    agreed = compared.agreement
    assert {0, 1} <= set(agreed.runs) and agreed.matrix[0, 1] > 0.95
    first, second = compared.reports[0].manifold, compared.reports[1].manifold
    for factor, (found, told) in enumerate(agreed.matched[0, 1]):
        assert told > 0.95 and first.factor_dims_[factor] == second.factor_dims_[found]


def test_the_page_shows_names_as_text_and_the_maps_of_all(compared):
    page = compared.path.read_text()
    assert HOSTILE not in page and len(page) < 2_000_000
    for name in ("ranking", "differences", "similarity", "factors", "maps", "distances"):
        assert f'id="section-{name}"' in page
    data = page.split('id="charts">')[1].split("</script>")[0]
    (maps,) = json.loads(data)
    titles = [view["title"] for view in maps["data"]["views"]]
    assert titles[0].startswith("plain: ") and any(text.startswith(HOSTILE) for text in titles)
    places = {len(view["places"]) for view in maps["data"]["views"]}
    assert places == {len(maps["data"]["told"])}


def test_results_hold_every_number(compared):
    content = json.loads((compared.path.parent / "results.json").read_text())
    assert content["ranking"] == list(compared.ranking)
    assert content["scores"]["value"]["plain"]["mig"] == pytest.approx(
        compared.scores.value.at["mig", "plain"]
    )
    assert (compared.path.parent / "figures" / "cka.svg").exists()


def test_a_notebook_shows_the_ranking_without_scripts(compared):
    shown = compared._repr_html_()
    assert "By mean rank" in shown and "<script" not in shown and "mig" in shown


def test_without_factors_representations_are_compared_all_the_same():
    a = np.random.default_rng(0).standard_normal((80, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = gd.compare([a, 2 * a], out=None, verbose=0)
    assert made.scores is None and made.ranking == ("run 0", "run 1")
    assert any("not ranked" in text for text in made.warnings)
    assert made.similarities[0].matrix[0, 1] == pytest.approx(1)


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        ({"a": np.eye(5)}, {}, "must have 2 to 24 entries; got 1"),
        ({"a": np.eye(5), "b": np.eye(6)}, {}, "the same rows in the same order; got 5 of a, 6 of"),
        ("ab", {}, "a mapping of names to arrays"),
        ([np.eye(5)] * 2, {"n_jobs": 0}, "n_jobs must be at least 1"),
        ([np.eye(5)] * 2, {"models": ["a"]}, "one entry for each of the 2 runs; got 1"),
        ([np.eye(5), np.arange(5)], {}, "run 1 must have shape"),
    ],
)
def test_bad_runs_are_said_before_the_work(runs, options, message):
    with pytest.raises(InputError, match=message):
        gd.compare(runs, out=None, verbose=0, **options)


def test_an_interrupt_writes_nothing(monkeypatch, tmp_path):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "similarities", interrupt)
    monkeypatch.setattr(module, "_report_of", lambda *_: None)
    monkeypatch.setattr(module, "_scores", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        gd.compare([np.eye(20), np.eye(20)], out=tmp_path / "out", verbose=0)
    assert list(tmp_path.iterdir()) == []


def table(seeds=4, gap=0.3):
    """As a sweep writes it: two steps a run, a setting that varies, one that does not."""
    rng = np.random.default_rng(0)
    rows = [
        {"run": f"{beta}{seed}{step}", "model": "beta-vae", "data": "xy", "seed": seed,
         "beta": beta, "latents": 6, "step": step, "term loss": 1.0,
         "score mig": (0.2 + gap * (beta > 1)) * (step > 1) + 0.01 * rng.standard_normal(),
         "score gaussian_total_correlation": 1 - (beta > 1) + 0.01 * rng.standard_normal()}
        for beta in (1.0, 4.0) for seed in range(seeds) for step in (1, 2)
    ]  # fmt: skip
    return pd.DataFrame([*rows, {"model": "beta-vae", "seed": 9, "beta": 4.0, "error": "diverged"}])


def test_the_table_of_a_sweep_is_compared_over_its_seeds(tmp_path):
    made = gd.compare(table(), out=tmp_path, title="<sweep>")
    assert set(made.runs.models) == {"beta-vae beta=1.0", "beta-vae beta=4.0"}
    assert len(made.ranking) == 8 and made.ranking[0].startswith("beta-vae beta=4.0/")
    assert {one.score: one.difference < 0 for one in made.scores.differences} == {
        "mig": True,
        "gaussian_total_correlation": True,  # lower is better
    }
    assert all(one.beyond_noise and one.by == "seeds" for one in made.scores.differences)
    assert made.scores.value.loc["mig"].min() > 0.1  # of the last step
    assert made.summary[0].startswith("By mean rank over all scores: beta-vae beta=4.0/")
    page = made.path.read_text()
    assert 'id="section-differences"' in page and 'id="section-maps"' not in page
    assert json.loads((tmp_path / "results.json").read_text())["ranking"] == list(made.ranking)


def test_a_ranking_within_noise_begins_with_that():
    said = "Uncertain: no difference between the models "
    alike = gd.compare(table(gap=0.0)[["model", "beta", "seed", "step", "score mig"]], out=None)
    assert not any(one.beyond_noise for one in alike.scores.differences)
    assert alike.summary[0].startswith(f"{said}is significant. By mean rank")
    single = gd.compare(table(seeds=1)[["model", "beta", "seed", "step", "score mig"]], out=None)
    assert single.summary[0].startswith(f"{said}could be tested. By mean rank")


def test_seeds_of_a_table_that_do_not_differ_are_said_not_to():
    assert not any(one.beyond_noise for one in gd.compare(table(gap=0.0), out=None)
                   .scores.differences if one.score == "mig")  # fmt: skip
    with pytest.raises(InputError, match="at least two runs with scores; got 1"):
        gd.compare(table().iloc[:2], out=None)


def test_the_page_of_a_table_links_to_the_documentation_that_was_named(tmp_path):
    page = gd.compare(table(seeds=2), out=tmp_path, docs="https://a.b/docs/").path.read_text()
    assert "https://a.b/docs/score_cards.html#mig" in page


def test_distances_of_several_runs_are_told_apart_by_a_legend():
    measured: Any = {
        (GROUND_TRUTH, LATENT): SimpleNamespace(spearman=0.5, spearman_interval=(0.4, 0.6))
    }
    one: Any = SimpleNamespace(random=measured, factors={"x": measured})
    panel = distances_of_runs_figure({"first": one, "second": one}).panels[0][0]
    assert panel.legend != "none"
    assert [mark.label for mark in panel.marks] == ["first", "second"]
