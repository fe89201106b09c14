"""Pictures of priors show the norms, turns and trees that the priors have."""

import numpy as np
import pytest
import torch

from geodis import plots
from geodis.base.check import InputError
from geodis.models import LpNested, StandardNormal
from geodis.plots.priors import best_turn, tree_of

NESTED = (2.5, [1, (1.3, [2])])


@pytest.mark.parametrize("tree", [(1.0, [2]), (9.0, [2]), (2.0, [1, (0.7, [1])])])
def test_lines_are_where_the_norm_is_constant(tree):
    axis = plots.plot_prior_contours(tree)
    prior = LpNested(tree)
    for level, path in zip((0.5, 1.0, 1.5), axis.collections[0].get_paths(), strict=True):
        norms = prior.norm(torch.from_numpy(path.vertices))
        assert len(norms) > 100 and np.allclose(norms, level, atol=0.01)


def test_lines_of_two_of_many_latents_have_the_others_at_zero():
    prior = LpNested.isa(1.2, [(4.0, 2), (4.0, 2)])
    within, between = (plots.plot_prior_contours(prior, latents=pair) for pair in ((0, 1), (1, 2)))
    for axis, exponent in ((within, 4.0), (between, 1.2)):
        line = axis.collections[0].get_paths()[1].vertices
        powers = (np.abs(line) ** exponent).sum(axis=1)
        assert np.allclose(powers, 1, atol=0.03)
    assert between.get_xlabel() == "z2" and between.get_ylabel() == "z3"


def surface_points(axis):
    return np.unique(np.concatenate(axis.collections[0]._faces).reshape(-1, 3), axis=0)


def test_the_surface_is_where_the_norm_is_one():
    axis = plots.plot_prior_contours(LpNested(NESTED))
    points = surface_points(axis)
    norms = LpNested(NESTED).norm(torch.from_numpy(points))
    assert len(points) > 1000 and np.allclose(norms, 1, atol=1e-9)


def test_figure_2_has_a_panel_for_every_pair_of_exponents():
    trees = {f"{a}, {b}": (a, [1, (b, [2])]) for a in (1, 2, 9) for b in (1, 2, 9)}
    axes = plots.plot_prior_contours(trees)
    assert axes.shape == (3, 3) and [axis.get_title() for axis in axes.ravel()] == [*trees]
    sphere = surface_points(axes[1, 1])  # both exponents two
    assert np.allclose(np.linalg.norm(sphere, axis=1), 1)


def test_learnt_exponents_are_drawn_as_they_are_now():
    prior = LpNested((2.0, [1, (1.5, [2])]), learn="all")
    with torch.no_grad():
        prior._learnt += 1.0
    assert tree_of(prior) == [3.0, [1, [2.5, [2]]]]


@pytest.mark.parametrize("p", [0.7, 1.0, 1.5, 2.5, 4.0, 9.0])
def test_peaked_priors_turn_a_square_by_45_degrees_and_flat_ones_do_not(p, rng):
    angle, scale = best_turn(p)
    assert abs(np.degrees(angle)) == pytest.approx(45 if p < 2 else 0)

    def score(a, c):
        u = np.random.default_rng(0).uniform(-1, 1, (20_000, 2))
        turn = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
        return -(np.abs(c * u @ turn.T) ** p).sum(axis=1).mean() + 2 * np.log(c)

    best = score(angle, scale)
    assert all(best > score(*other) for other in ((angle + 0.4, scale), (angle, 1.2 * scale)))
    assert best > score(angle, 0.8 * scale)


def test_a_normal_prior_has_no_turn_of_its_own():
    assert best_turn(2.0)[0] == 0
    axes = plots.plot_prior_orientation([1.0, 2.0, 9.0])
    titles = [axis.get_title() for axis in axes[0]]
    assert titles == ["p = 1, leptokurtic", "p = 2, normal", "p = 9, platykurtic"]
    colours = [np.asarray(axis.collections[0].get_array()) for axis in axes[0]]
    places = np.asarray(axes[0, 2].collections[0].get_offsets())
    assert np.corrcoef(colours[2], places[:, 0])[0, 1] == pytest.approx(1)
    assert abs(np.corrcoef(colours[0], places[:, 0])[0, 1]) == pytest.approx(0.5**0.5, abs=1e-6)


def test_a_tree_has_all_its_leaves_and_exponents():
    axis = plots.plot_prior_tree(LpNested.isa(2.1, [(2.2, 3), (1.9, 2)]))
    texts = {text.get_text(): text.get_position() for text in axis.texts}
    assert {"z1", "z2", "z3", "z4", "z5", "p = 2.2", "p = 1.9", "p = 2.1"} == {*texts}
    assert texts["p = 2.2"] == (1.0, 1) and texts["p = 1.9"] == (3.5, 1)
    assert texts["p = 2.1"][1] == 2 and len(axis.lines) == 7


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plots.plot_prior_contours((2.0, [4])), "two or three distinct latents"),
        (lambda: plots.plot_prior_contours((2.0, [4]), latents=[0, 4]), "between 0 and 3; got 4"),
        (
            lambda: plots.plot_prior_contours((2.0, [4]), latents=[0, 0]),
            "two or three distinct latents",
        ),
        (lambda: plots.plot_prior_contours({}), "A mapping needs at least one prior"),
        (lambda: plots.plot_prior_contours(3), "LpNested, or a tree .*; got 3"),
        (lambda: plots.plot_prior_contours(StandardNormal(2)), "must be Lp-nested; got Standard"),
        (lambda: plots.plot_prior_contours(NESTED, plots.new_axis()), "projection='3d'"),
        (
            lambda: plots.plot_prior_contours({"a": NESTED, "b": (1.0, [2])}),
            "all have two latents or all have three",
        ),
        (lambda: plots.plot_prior_tree((2.0, [])), "must have leaves"),
        (lambda: plots.plot_prior_orientation([]), "at least one entry; got none"),
        (lambda: plots.plot_prior_orientation([0.0]), "between 0.1 and 50; got 0"),
    ],
)
def test_bad_input_gets_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()
