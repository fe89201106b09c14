"""Plans: what names a run of a class of one's own."""

import pytest

from geodis import models
from geodis.base.check import InputError
from geodis.models.sweeps.sweep_plan import ScoringPlan, plan_runs


def planned(name, **training):
    training = {"steps": 5, **training}
    (run,) = plan_runs([{"model": name}], {"a": "3f"}, [0], training, ScoringPlan())
    return run.identity


def test_a_class_of_ones_own_names_a_run_by_its_name_and_revision():
    def defined(revision):
        class RevisedSweptVAE(models.VAE):
            pass

        RevisedSweptVAE.revision = revision
        return planned(RevisedSweptVAE.__name__)

    assert defined(0) == defined(0) != defined(1)


def test_a_version_names_a_run():
    assert planned("vae", version="a") == planned("vae", version="a") != planned("vae")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": 5}, "The model must be one of .*; got 5"),
        ({"model": ["vae", 5]}, "The model must be one of .*; got 5"),
        ({"model": {"a": 1}}, "The model must be one of"),
        ({"model": []}, "model must have at least one value"),
        ({"beta": []}, "beta must have at least one value; got an empty list"),
        ({"schedules": 5}, "schedules must be a table of settings .*; got 5"),
        ({"schedules": [[1, 2]]}, "schedules must be a table"),
        ({"schedules": {"beta": 4.0}}, "schedules must be a table"),
        ({"learning_rate": 0}, "learning_rate must be positive; got 0"),
        ({"prior": "x"}, "prior is a torch module"),
        ({"encoder": "x"}, "encoder is a torch module"),
    ],
)
def test_settings_that_mean_nothing_are_said(settings, message):
    entries = [{"model": "vae"}, {"model": "vae", **settings}]
    with pytest.raises(InputError, match=message):
        plan_runs(entries, {"a": "3f"}, [0], {"steps": 5}, ScoringPlan())


def test_training_is_a_table():
    with pytest.raises(InputError, match=r"training must be a table, .*; got \[1\]"):
        plan_runs([{"model": "vae"}], {"a": "3f"}, [0], [1], ScoringPlan())


def test_the_same_images_under_two_names_are_refused():
    with pytest.raises(InputError, match=r"Data sets must differ; got the same .* as a and as b"):
        plan_runs([{"model": "vae"}], {"a": "3f", "b": "3f"}, [0], {}, ScoringPlan())


def test_names_of_runs_stay_as_they_were():
    """Finished runs are recognised by them."""
    entries = [{"model": "vae", "latents": 3}, {"model": "beta-vae", "beta": 4, "steps": 7}]
    for stack, names in (
        (1, ["643c53598bd547b4", "0aab1bcd52cd0306"]),
        (4, ["41955481e1c9e570", "ebeee7bbd5d39b56"]),
    ):
        training = {"precision": "float32"}
        choices = {"device": "cpu", "stack": stack}
        runs = plan_runs(entries, {"a": "3f"}, [1], training, ScoringPlan(), **choices)
        assert [run.identity for run in runs] == names
