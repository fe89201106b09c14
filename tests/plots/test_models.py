"""Figures of models show what they were given."""

import numpy as np
import pytest

from geodis import plots
from geodis.base.check import InputError
from geodis.models.training.training_run import Training

HISTORY = [{"step": 10 * i, "reconstruction": 5.0 - i / 100, "kl": 1.0} for i in range(60)]
HISTORY += [{"step": 300, "score mig": 0.2}, {"step": 600, "score mig": 0.3}]


def test_a_mosaic_has_every_image_in_its_place():
    images = np.random.default_rng(0).random((3, 4, 5, 6, 1))
    axis = plots.plot_traversals(images, values=[-1, 0, 1, 2])
    (shown,) = axis.images
    mosaic = np.asarray(shown.get_array())
    assert mosaic.shape == (3 * 7 - 2, 4 * 8 - 2)
    np.testing.assert_allclose(mosaic[7:12, 16:22], images[1, 2, :, :, 0])
    assert [text.get_text() for text in axis.get_yticklabels()] == ["z 0", "z 1", "z 2"]
    assert [text.get_text() for text in axis.get_xticklabels()] == ["-1", "0", "1", "2"]


def test_colours_stay_colours():
    images = np.random.default_rng(0).random((2, 3, 4, 4, 3))
    mosaic = np.asarray(plots.plot_traversals(images).images[0].get_array())
    np.testing.assert_allclose(mosaic[6:10, 12:16], images[1, 2])


def test_vectors_are_curves():
    axis = plots.plot_traversals(np.random.default_rng(0).random((2, 3, 7)), names=["a", "b"])
    assert len(axis.lines) == 6
    assert [text.get_text() for text in axis.get_yticklabels()] == ["b", "a"] or [
        text.get_text() for text in axis.get_yticklabels()
    ] == ["a", "b"]


def test_training_has_a_panel_for_every_term():
    axis = plots.plot_training(Training(600, HISTORY))
    titles = [panel.get_title(loc="left") for panel in axis.figure.axes if panel.get_visible()]
    assert titles == ["reconstruction", "kl", "score mig"]
    steps, values = axis.lines[0].get_data()
    assert steps[-1] == 590 and values[0] == 5.0


def test_one_term_goes_on_an_axis_of_ones_own():
    axis = plots.new_axis()
    assert plots.plot_training(HISTORY, axis, term="score mig") is axis
    np.testing.assert_allclose(axis.lines[0].get_ydata(), [0.2, 0.3])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: plots.plot_traversals(np.zeros((2, 3))),
            r"\(z, steps, columns\); got shape \(2, 3\)",
        ),
        (
            lambda: plots.plot_traversals(np.zeros((2, 3, 4)), names=["a"]),
            "one entry per latent, 2 in all",
        ),
        (lambda: plots.plot_training([]), "at least one step with a term; got none"),
        (lambda: plots.plot_training(HISTORY, plots.new_axis(), term="x"), "term must be one of r"),
    ],
)
def test_bad_input_is_said_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()
