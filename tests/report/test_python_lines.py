"""The lines of Python on a page make the same report again."""

import inspect
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest

from geodis.report import build
from geodis.report.analysis import Analysis, ReportSettings
from geodis.report.material import gather_material
from geodis.report.page.score_cards import opening_lines

# Of everything that decides what the page shows, a value that is not the usual one.
CHANGED = {
    "groups": [[0, 1]],
    "dim": 2,
    "n_factors": 1,
    "prepare": "sqrt",
    "metric": "cosine",
    "max_points": 90,
    "bins": 7,
    "intervals": 5,
    "scores": ("mig",),
    "random_state": 3,
}
# Texts around the results, and how many processes make them.
BESIDE = {"title", "about", "sources", "n_jobs", "docs", "has_factors", "has_images"}
BESIDE |= {"has_times", "has_pixels"}


def arguments_of(settings):
    """What the lines call `report` with: carried out, with a report that notes its arguments."""
    rng = np.random.default_rng(0)
    latents, factors = rng.standard_normal((60, 3)), rng.integers(3, size=(60, 1))
    material = gather_material(latents, factors if settings.has_factors else None)
    lines = opening_lines(Analysis({}, material, settings))
    calls = []

    def report(*given, **options):
        calls.append(inspect.signature(build.report).bind(*given, **options).arguments)

    gd = SimpleNamespace(load_array=lambda file: latents, load_factors=lambda file: factors)
    gd.report = report
    exec(lines.replace("import geodis as gd", ""), {"gd": gd})
    (call,) = calls
    return call


def test_every_setting_is_changed_here_or_beside_the_results():
    assert {field.name for field in fields(ReportSettings)} == set(CHANGED) | BESIDE


@pytest.mark.parametrize("name", CHANGED)
def test_a_setting_that_is_not_the_usual_one_is_in_the_call(name):
    usual = ReportSettings(sources={"latents": "z.npy", "factors": "f.csv"}, has_factors=True)
    call = arguments_of(replace(usual, **{name: CHANGED[name]}))
    assert call.pop(name) == CHANGED[name]
    assert set(call) == {"latents", "factors"}
