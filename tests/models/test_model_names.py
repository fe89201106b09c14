"""Models by name: those of geodis, the user's own, and those of other packages."""

import gc
import re
import sys
import textwrap
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from geodis import models
from geodis.base import plugins
from geodis.base.check import InputError
from geodis.models import model_named

# A model of another package, whole.
SPARSE = """
from geodis import models


def sparsity(batch):
    return batch.mean.abs().mean()


class SparsePluginVAE(models.VAE):
    objectives = (*models.VAE.objectives, (sparsity, "sparse"))
    defaults = {**models.VAE.defaults, "sparse": 1.0}
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Another package that declares a model as an entry point."""
    (tmp_path / "sparse_plugin.py").write_text(textwrap.dedent(SPARSE))
    monkeypatch.syspath_prepend(tmp_path)
    entry = EntryPoint("sparse", "sparse_plugin", "geodis.models")
    monkeypatch.setattr(plugins, "entry_points", lambda group: [entry])
    plugins.load_plugins.cache_clear()
    yield "SparsePluginVAE"
    plugins.load_plugins.cache_clear()
    sys.modules.pop("sparse_plugin", None)


def test_a_model_of_another_package_is_trained_saved_and_loaded_by_name(installed, blobs, tmp_path):
    assert "sparse_plugin" not in sys.modules
    model = model_named("sparse-plugin-vae")(blobs, 2, network="vector", sparse=0.5)
    assert len(SPARSE.strip().splitlines()) <= 20
    done = models.train(model, blobs, 2, batch_size=8, checkpoint=tmp_path, verbose=0)
    assert {"reconstruction", "kl", "sparsity"} < set(done.history[-1])
    again = models.load_model(tmp_path)
    assert type(again).__name__ == installed and again.settings.sparse == 0.5
    np.testing.assert_array_equal(models.encode(again, blobs), models.encode(model, blobs))


def test_of_equal_names_the_one_defined_last_is_meant():
    class Twice(models.AE):
        """The first."""

    first = Twice

    class Twice(models.AE):  # type: ignore[no-redef]
        """The second."""

    assert model_named("twice") is Twice is not first


def test_of_equal_names_the_newest_is_meant_whatever_it_is_made_of():
    def define(base):
        return type("Again", (base,), {"__doc__": "Always of the same place."})

    # Classes below VAE are listed before those below AE, which is defined after it, or the
    # other way round: the order of definition is what counts.
    defined = [define(base) for base in (models.VAE, models.AE)]
    assert model_named("again") is defined[-1]
    defined.append(define(models.VAE))
    assert model_named("again") is defined[-1]


@pytest.fixture
def forgotten():
    """Classes that a test defines are gone after it."""
    yield
    gc.collect()


def test_a_name_of_two_classes_is_refused(forgotten, tmp_path):
    class VAE(models.VAE):
        """A model of the user's own by the name of one of ours."""

    folder = models.save_model(VAE((3,), 2), tmp_path)
    message = (
        r"The name VAE must mean one class; got geodis\.models\.unsupervised\.VAE and "
        r"tests\.models\.test_model_names\..*VAE: rename one of them\."
    )
    for use in (lambda: models.load_model(folder), lambda: model_named("vae")):
        with pytest.raises(InputError, match=message):
            use()


def test_a_name_is_free_again_once_the_other_class_is_gone():
    gc.collect()
    assert model_named("vae") is models.VAE


def test_of_names_written_alike_the_exact_one_is_meant(forgotten):
    class BetaVae(models.VAE):
        """A model of the user's own."""

    assert model_named("BetaVae") is BetaVae
    assert model_named("BetaVAE") is models.BetaVAE
    with pytest.raises(InputError, match="must mean one class"):
        model_named("beta-vae")


@pytest.mark.parametrize("name", ["beta-vae", "BetaVAE", "beta_vae"])
def test_names_are_written_in_several_ways(name):
    assert model_named(name) is models.BetaVAE


@pytest.mark.parametrize("name", ["gan", "model", "autoencoder", "", 5, None, ["vae"]])
def test_what_cannot_be_trained_is_no_model(name):
    message = f"The model must be one of AAE, AE, .*; got {re.escape(repr(name))}"
    with pytest.raises(InputError, match=message):
        model_named(name)
