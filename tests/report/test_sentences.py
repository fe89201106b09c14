import json
import re
from dataclasses import replace
from functools import cache
from itertools import permutations

import numpy as np
import pytest

import geodis as gd
from geodis.manifold.doubts import doubt
from geodis.manifold.local.dimension import intrinsic_dimension
from geodis.plots.geometry.spectra import eigenvalue_spectrum_figure
from geodis.report.analysis import ReportSettings
from geodis.report.build import run_sections
from geodis.report.material import gather_material
from geodis.report.page.render import render_page
from geodis.report.results import in_plain_words
from geodis.scores.score_table import NEAR_CHANCE
from tests.report.example import HOSTILE, example_report


def test_the_summary_names_what_is_best_and_worst():
    geometry, scores, distances = example_report().summary
    assert re.match("(Uncertain: t|T)he points lie on a ", geometry)
    assert "MIG is " in scores and "(chance 0.0" in scores and HOSTILE in scores
    assert "rank correlation" in distances and "; distances between the images have" in distances
    assert all(text.endswith(".") and ".." not in text for text in (geometry, scores, distances))


@pytest.mark.parametrize(
    ("spec", "n", "text"),
    [
        (
            "S^2 x S^2",
            800,
            "4-dimensional manifold that splits into 2 factors of dimension 2 and 2",
        ),
        ("S^2 x S^1", 600, "splits into 2 factors of dimension 2 and 1"),
    ],
)
def test_the_geometry_in_a_sentence(spec, n, text):
    points = gd.product_manifold(spec, n, random_state=0).points
    assert text in gd.report(points, out=None, verbose=0).summary[0]


def test_how_far_the_geometry_can_be_trusted(tmp_path):
    points = gd.product_manifold("S^2 x S^1", 600, random_state=0).points
    report = gd.report(points, out=tmp_path / "r", verbose=0)
    assert "found the same" not in " ".join(report.summary)  # repeatable is not valid
    page = report.path.read_text(encoding="utf-8").split("<h3>Refits</h3>")[1]
    tally = re.findall("<p.*?>(.*?)</p>", page, re.DOTALL)[0]
    assert tally == report.manifold.confidence_.sentence
    assert "repeatable, which does not make it right" in tally
    kept = json.loads((tmp_path / "r" / "results.json").read_text())["manifold"]["confidence"]
    assert kept["found"] == {"2 + 1": 1} and kept["quick"]
    assert 0 < max(kept["median_bound"]) < 0.01


def test_pieces_and_constant_columns_are_warned_of():
    rng = np.random.default_rng(0)
    far = np.concatenate([rng.normal(size=(60, 4)), 50 + rng.normal(size=(60, 4))])
    report = gd.report(np.column_stack([far, np.zeros(120)]), out=None, verbose=0)
    text = " ".join(report.warnings)
    assert "has 2 connected components (the largest has 60 points)" in text
    assert "Columns without variation: 4." in text
    assert "pieces (the largest" not in text  # the same doubt of GeoManCER is not repeated


def test_too_few_points_are_warned_of():
    sphere = np.random.default_rng(0).normal(size=(25, 3))
    report = gd.report(sphere, out=None, verbose=0)
    assert any("25 points are few for dimension" in text for text in report.warnings)


def test_scores_at_chance_are_named():
    rng = np.random.default_rng(0)
    factors, noise = rng.integers(4, size=(300, 2)), rng.normal(size=(300, 2))
    report = gd.report(noise, factors, intervals=0, out=None, verbose=0)
    (line,) = [text for text in report.warnings if text.startswith("Not above chance")]
    assert "mig" in line and "efficiency" not in line
    # What is counted is what is shown beside a level of chance, and no more.
    frame = report.scores.frame
    judged = int(frame["chance"].notna().sum())
    above = judged - len(line.split(": ")[1].split(", "))
    assert any(f"{above} of {judged} scores with a chance" in text for text in report.summary)
    page = render_page(report)  # which greys the same
    grey = re.findall(r'<tr class="nothing"><td>(?:<button [^>]*>)?(\w+)', page)
    assert set(grey) == set(line.split(": ")[1].rstrip(".").split(", "))


@pytest.mark.parametrize(
    ("verdict", "said"), [("clear", ""), ("doubtful", "in doubt"), ("undecided", "undecided")]
)
def test_a_dimension_that_is_not_clear_is_in_the_sentence(monkeypatch, verdict, said):
    sphere = gd.product_manifold("S^2", 300, random_state=0).points
    doubts = (
        () if verdict == "clear" else (doubt("one-method", "dimension", method="guess", found=""),)
    )
    estimate = replace(intrinsic_dimension(sphere), verdict=verdict, doubts=doubts)
    monkeypatch.setattr(
        "geodis.manifold.preparation.prepared.intrinsic_dimension", lambda *_, **__: estimate
    )
    report = gd.report(sphere, out=None, verbose=0)
    about = f"of about 2 dimensions (the dimension is {said}) that"
    assert (about in report.summary[0]) == bool(said)
    assert any("by guess alone" in text for text in report.warnings) == bool(said)
    for first in (report.summary[0], in_plain_words(report)):
        assert first.startswith("Uncertain: ") == bool(said)


NOISE = 0.3 * np.random.default_rng(1).standard_normal((1500, 6))
CASES = {
    "one curved factor": (gd.product_manifold("S^2", 500, random_state=0).points, {}),
    "one dimension": (gd.product_manifold("S^1", 400, random_state=0).points, {}),
    "two circles": (gd.product_manifold("S^1 x S^1", 800, random_state=0).points, {}),
    "a product": (gd.product_manifold("S^2 x S^1", 900, random_state=0).points, {}),
    "noise": (NOISE[:600, :3], {}),
    "told too little": (gd.product_manifold("S^2 x S^1", 900, random_state=0).points, {"dim": 2}),
    "a thick sphere": (
        gd.product_manifold("S^2", 600, random_state=0).points + NOISE[:600, :3],
        {},
    ),
    "a thick product": (
        gd.product_manifold("S^2 x S^2", 1500, random_state=0).points + 0.4 * NOISE,
        {},
    ),
}


@cache
def reported(case):
    points, options = CASES[case]
    return gd.report(points, out=None, verbose=0, **options)


@pytest.mark.parametrize("case", CASES)
def test_what_is_uncertain_begins_with_that(case):
    report, options = reported(case), CASES[case][1]
    est = report.manifold
    again = sum(est.confidence_.found.values()) == est.confidence_.agreeing
    clear = "dim" in options or report.inspection.dimension.agree
    uncertain = est.uncertain_ or not again or not clear
    firsts = [report.summary[0], in_plain_words(report)]
    assert all(first.startswith("Uncertain: ") == uncertain for first in firsts if first)
    # The reason stands in the box below, and nothing there is said twice.
    assert uncertain <= bool(report.warnings)
    bare = [text.rstrip(".").lower() for text in report.warnings]
    assert not any(a in b for a, b in permutations(bare, 2))
    if est.evidence_:  # the figure says the factors that the page reports
        title = eigenvalue_spectrum_figure(est).panels[0][0].title
        dims = " + ".join(map(str, est.factor_dims_))
        said = f"into {dims}" if est.n_factors_ > 1 else "is one factor"
        assert f"dimension {est.dim_} {said}" in title
    shown = " ".join(re.findall(r">([^<]+)<", render_page(report)))
    assert not re.search(r"(?<![\d.,])1 (factors|rows|columns|points|eigenvalues|figures)\b", shown)


def test_the_cases_are_of_both_kinds():
    opened = [reported(case).summary[0].startswith("Uncertain: ") for case in CASES]
    assert 2 < sum(opened) < len(opened) - 2
    # In some of them the first look and the fit have the same doubt, which is to be said once.
    twice = [str(one.inspection.dimension) in one.manifold.doubts_[0]
             for one in map(reported, CASES) if one.manifold.doubts_]  # fmt: skip
    assert any(twice)


def test_a_score_at_chance_is_not_in_the_summary():
    rng = np.random.default_rng(0)
    factors, noise = rng.integers(4, size=(300, 2)), rng.normal(size=(300, 2))
    report = gd.report(noise, factors, intervals=0, out=None, verbose=0)
    frame = report.scores.frame
    assert frame.at["mig", "value"] < frame.at["mig", "chance"] + NEAR_CHANCE
    assert not re.search("MIG|DCI|SAP|modularity|encode", report.summary[1])
    assert "with a chance level exceed it by more than 0.02" in report.summary[1]
    unseen = "No map shows the given factors “factor 0” and “factor 1”."
    assert in_plain_words(report).endswith(unseen)


def test_scores_that_one_factor_makes_perfect_do_not_lead_the_summary():
    rng = np.random.default_rng(0)
    factors = rng.integers(4, size=(300, 1))
    latents = np.column_stack([factors[:, 0] + 0.3 * rng.normal(size=300), rng.normal(size=300)])
    report = gd.report(latents, factors, intervals=0, out=None, verbose=0)
    assert (
        report.scores["dci_disentanglement"]
        == report.scores.frame.at["dci_disentanglement", "chance"]
    )
    assert report.summary[1].startswith("MIG is ")


def test_labels_have_no_order_and_it_is_said():
    assert any(
        text.startswith(f"The labels of {HOSTILE} have no order")
        for text in example_report().warnings
    )


def test_sections_run_without_a_page():
    material = gather_material(np.eye(6))
    report = run_sections(material, ReportSettings(intervals=0), verbose=0)
    assert "none were given" in report.parts["scores"].failure
