import json
import re
from dataclasses import replace

import numpy as np
import pytest

import geodis as gd
from geodis.manifold.local.dimension import intrinsic_dimension
from geodis.report.analysis import ReportSettings
from geodis.report.material import gather_material
from geodis.report.page.render import render_page
from geodis.report.run import run_sections
from tests.report.example import HOSTILE, example_report


def test_the_summary_names_what_is_best_and_worst():
    geometry, scores, distances = example_report().summary
    assert geometry.startswith("The points lie on a ")
    assert "MIG is " in scores and "(chance 0.0" in scores and HOSTILE in scores
    assert "rank correlation" in distances and "those between the images do with" in distances
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
    assert "A fit to 300 of the points found the same factors. With 90%" in report.summary[0]
    kept = json.loads((tmp_path / "r" / "results.json").read_text())["manifold"]["confidence"]
    assert kept["found"] == {"2 + 1": 1} and kept["quick"]
    assert 0 < max(kept["median_bound"]) < 0.01


def test_pieces_and_constant_columns_are_warned_of():
    rng = np.random.default_rng(0)
    far = np.concatenate([rng.normal(size=(60, 4)), 50 + rng.normal(size=(60, 4))])
    report = gd.report(np.column_stack([far, np.zeros(120)]), out=None, verbose=0)
    text = " ".join(report.warnings)
    assert "in 2 pieces (the largest of 60 points)" in text
    assert "Columns without variation: 4." in text
    assert text.count("pieces (the largest") == 1  # and by GeoManCER with what to do


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
    assert any(f"{above} of the {judged} scores with a chance" in text for text in report.summary)
    page = render_page(report)  # which greys the same
    grey = re.findall(r'<tr class="nothing"><td>(?:<button [^>]*>)?(\w+)', page)
    assert set(grey) == set(line.split(": ")[1].rstrip(".").split(", "))


@pytest.mark.parametrize(
    ("verdict", "said"), [("clear", ""), ("doubtful", "in doubt"), ("undecided", "undecided")]
)
def test_a_dimension_that_is_not_clear_is_in_the_sentence(monkeypatch, verdict, said):
    sphere = gd.product_manifold("S^2", 300, random_state=0).points
    doubts = () if verdict == "clear" else ("it was told",)
    estimate = replace(intrinsic_dimension(sphere), verdict=verdict, doubts=doubts)
    monkeypatch.setattr("geodis.inspection.intrinsic_dimension", lambda *_, **__: estimate)
    report = gd.report(sphere, out=None, verbose=0)
    about = f"of about 2 dimensions (their number is {said}) that"
    assert (about in report.summary[0]) == bool(said)
    assert any("it was told" in text for text in report.warnings) == bool(said)


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
