"""Plans: what names a run of a class of one's own."""

from geodis import models
from geodis.models import objectives
from geodis.models.sweeps import sweep_plan
from geodis.models.sweeps.sweep_plan import ScoringPlan, plan_runs


def planned(name):
    (run,) = plan_runs([{"model": name}], {"a": "3f"}, [0], {"steps": 5}, ScoringPlan())
    return run.identity


def weighed(weight):
    """Define a class anew, whose text does not say its weight, and plan a run of it."""

    class WeighedSweptVAE(models.VAE):
        objectives = ((objectives.reconstruction, weight), (objectives.kl, "beta"))

    return planned(WeighedSweptVAE.__name__)


def test_other_code_of_a_class_of_ones_own_is_another_run():
    assert weighed(1.0) == weighed(1.0) != weighed(2.0)


def test_code_of_geodis_names_no_run(monkeypatch):
    before = planned("vae")
    monkeypatch.setattr(sweep_plan, "code_fingerprint", None)
    assert planned("vae") == before
