"""Every public name resolves and says what it is."""

import inspect

import pytest

from geodis import models


@pytest.mark.parametrize("name", models.__all__)
def test_every_public_name_resolves_and_has_a_docstring(name):
    assert inspect.getdoc(getattr(models, name))


def test_public_names_of_the_room():
    names = {"VAE", "train", "TrainOptions", "encode", "load_model", "objectives", "networks"}
    assert names | {"priors", "model_named", "Autoencoder"} <= set(models.__all__)
