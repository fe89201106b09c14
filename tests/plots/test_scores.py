"""Figures of scores show the numbers they are given."""

import re

import numpy as np
import pandas as pd
import pytest

import geodis as gd
from geodis import plots, scores
from geodis.base.check import InputError
from geodis.plots import figure_svg
from geodis.plots.scores import similar_order
from geodis.scores.card import Score


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    factors = pd.DataFrame(rng.integers(4, size=(300, 3)), columns=["a", "b", "c"])
    code = factors.to_numpy() @ rng.standard_normal((3, 4))
    return gd.score_latents(
        code, factors, ["mig", "sap", "irs", "mutual_info_score"], intervals=3, verbose=False
    )


def test_a_matrix_has_its_numbers_and_names(table):
    axis = plots.plot_score_matrix(table.scores["mig"])
    shown = [float(text.get_text()) for text in axis.texts]
    np.testing.assert_allclose(shown, table.scores["mig"].matrix.ravel(), atol=0.006)
    assert [label.get_text() for label in axis.get_xticklabels()] == ["a", "b", "c"]
    assert axis.get_title(loc="left") == f"mig {table['mig']:.3f}"


def test_a_matrix_may_be_large_constant_or_have_holes():
    assert not plots.plot_score_matrix(np.ones((100, 40))).texts
    axis = plots.plot_score_matrix(np.array([[0.0, np.nan], [0.0, 0.0]]))
    assert len(axis.texts) == 3
    with pytest.raises(InputError, match="a matrix of latents and factors; got irs"):
        plots.plot_score_matrix(Score("irs", 0.5))
    with pytest.raises(InputError, match=r"matrix must have shape \(z, f\); got shape \(3,\)"):
        plots.plot_score_matrix(np.ones(3))


def test_dots_stand_at_the_values_and_unsupervised_scores_are_left_out(table):
    axis = plots.plot_scores(table)
    names = [label.get_text() for label in axis.get_yticklabels()]
    assert names == ["mig", "sap", "irs"]
    chance, value = (marks.get_offsets() for marks in axis.collections[:2])
    np.testing.assert_allclose(value[:, 0], table.frame.loc[names, "value"])
    np.testing.assert_allclose(chance[:, 0], table.frame.loc[names, "chance"])
    alone = gd.score_latents(np.eye(9), np.arange(9), ["mutual_info_score"], verbose=False)
    with pytest.raises(InputError, match="a score of latents and factors; got none"):
        plots.plot_scores(alone)


def test_agreement_puts_scores_that_agree_side_by_side(tmp_path):
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((2, 30))
    frame = pd.DataFrame(
        {"a1": first, "b1": second, "a2": first + 0.1 * rng.standard_normal(30), "b2": 2 * second}
    )
    agreed = scores.agreement(frame)
    axis = plots.plot_agreement(agreed)
    names = [label.get_text() for label in axis.get_xticklabels()]
    assert [name[0] for name in names] in (list("aabb"), list("bbaa"))
    ordered = 100 * agreed.frame.loc[names, names].to_numpy().ravel()
    np.testing.assert_allclose([float(text.get_text()) for text in axis.texts], ordered, atol=0.51)
    plots.save_figure(axis, tmp_path / "agreement.png")
    plain = plots.plot_agreement(agreed, order=False)
    assert [label.get_text() for label in plain.get_xticklabels()] == list(frame.columns)
    assert similar_order(np.eye(2)).tolist() == [0, 1]


def test_every_mark_is_inside_and_shares_have_one_scale():
    rng = np.random.default_rng(0)
    factors = rng.integers(3, size=(200, 2))
    table = gd.score_latents(factors, factors, ["mig"], verbose=False)
    table.frame["chance"] = 1.2
    table.frame["low"], table.frame["high"] = -0.1, 1.1
    left, right = plots.plot_scores(table).get_xlim()
    assert left <= -0.1 and right >= 1.2
    axis = plots.plot_score_matrix(np.full((2, 2), 0.05), limit=1.0)
    assert axis.collections[0].norm.vmax == 1.0


def test_bars_are_the_parts_of_the_scores():
    rng = np.random.default_rng(0)
    factors = rng.integers(3, size=(200, 2))
    table = gd.score_latents(factors + 0.0, factors, ["mig", "modularity"], verbose=0)
    axis = plots.plot_scores_per_factor(table, ["mig"])
    heights = [bar.get_height() for bar in axis.patches]
    np.testing.assert_allclose(heights, np.array(table.scores["mig"].per_factor))


def test_bars_that_were_not_asked_for_are_not_drawn(table):
    figure = plots.scores_per_factor_figure(table, ["sap"])
    assert [bar.label for bar in figure.panels[0][0].marks] == ["sap"]
    drawn = plots.to_chart(figure).svg
    assert "sap" in drawn and "mig" not in drawn
    with pytest.raises(InputError, match="a value for every factor; got none"):
        plots.plot_scores_per_factor(
            gd.score_latents(np.eye(9), np.arange(9), ["mutual_info_score"], verbose=0)
        )


def test_a_page_has_the_cells_of_the_matrix_and_the_names(table):
    figure = plots.score_matrix_figure(table.scores["mig"], name="held", entry="information")
    pattern = r'data-tip="latent (\d), (\w)&#10;information: ([\d.]+)"'
    told = re.findall(pattern, figure_svg(figure, of_page=True))
    values = np.array([float(value) for *_, value in told]).reshape(4, 3)
    np.testing.assert_allclose(values, table.scores["mig"].matrix, atol=5e-4)
    assert [latent + factor for latent, factor, _ in told[:4]] == ["0a", "0b", "0c", "1a"]


def test_every_score_stands_beside_its_chance(table):
    figure = plots.scores_figure(table)
    chance, value = figure.panels[0][0].marks
    frame = table.frame[table.frame["chance"].notna()]  # the others have no common scale
    assert list(figure.panels[0][0].y.names) == list(frame.index)
    np.testing.assert_array_equal(value.x, frame["value"])
    np.testing.assert_array_equal(chance.x, frame["chance"])
