"""The analyses run, keep what is finished, and compare what they say they compare."""

import json

import numpy as np
import pytest

from analyses import manifold_factorisation as analysis
from geodis import product_manifold
from geodis.manifold.local.quadratic_fits import tangent_terms

pytestmark = pytest.mark.long

TINY = analysis.Preset(
    sizes=(400,),
    published_sizes=(400,),
    seeds=(0,),
    changed=("S² × S²",),
    changed_points=400,
    start_points=(),
    swept=("S² × S²",),
    swept_points=400,
    noises=(0.0, 0.03),
    densities=(0.0, 2.0),
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    out = tmp_path_factory.mktemp("analysis")
    rows, complete = analysis.run(TINY, out, name="tiny", verbose=False)
    assert complete
    return rows, out


def test_every_part_is_written_and_drawn(results):
    rows, out = results
    written = {path.name for path in out.iterdir()}
    figures = {"error_against_n.png", "spectra.png", "changes.png", "noise.png", "density.png"}
    assert written == {"results.json", "results.md", *figures}
    content = json.loads((out / "results.json").read_text())
    assert len(content["rows"]) == len(rows) == len(analysis.plan(TINY))
    assert "## One change at a time" in (out / "results.md").read_text()


def test_the_default_beats_the_published_behaviour_everywhere(results):
    rows = [row for row in results[0] if row["part"] in ("error", "noise", "density")]
    for case in {(row["part"], row["manifold"], row["noise"], row["density"]) for row in rows}:
        errors = {
            row["variant"]: row["error"]
            for row in rows
            if (row["part"], row["manifold"], row["noise"], row["density"]) == case
        }
        assert errors[analysis.DEFAULT] < 0.5 * errors[analysis.PUBLISHED]


def test_small_samples_are_left_out_of_the_plan():
    planned = {case.manifold for case in analysis.plan(TINY) if case.part == "error"}
    assert "S² × S²" in planned and "S² × S⁴ × SO(3)" not in planned


def test_an_interrupt_keeps_what_is_finished(tmp_path, monkeypatch):
    done: list[analysis.Case] = []

    def stop_at_the_third(case):
        if len(done) == 3 and case.part != "warm-up":
            raise KeyboardInterrupt
        done.append(case)
        return {**analysis.asdict(case), "found": [2, 2], "right": True, "error": 0.1}

    monkeypatch.setattr(analysis, "run_case", stop_at_the_third)
    monkeypatch.setattr(analysis, "draw", lambda *_: None)
    rows, complete = analysis.run(TINY, tmp_path, verbose=False)
    assert not complete and len(rows) == 1
    assert len(json.loads((tmp_path / "results.json").read_text())["rows"]) == 1


def test_the_coarse_start_saves_applications():
    rows = {row["start"]: row for row in analysis.run_start(6000)}
    assert rows["coarse"]["applications"] < rows["random"]["applications"]


def test_ten_manifolds_with_their_dimensions():
    dims = [product_manifold(spec, 1, random_state=0).dim for spec in analysis.MANIFOLDS.values()]
    assert dims == [4, 5, 5, 6, 6, 6, 6, 8, 7, 9]


@pytest.mark.parametrize("name", analysis.PRESETS)
def test_presets_show_every_manifold_with_enough_points(name):
    cases = analysis.plan(analysis.PRESETS[name])
    assert {case.manifold for case in cases if case.part == "error"} == set(analysis.MANIFOLDS)
    for case in cases:
        sample = product_manifold(analysis.MANIFOLDS[case.manifold], 1, random_state=0)
        assert case.n >= analysis.LEAST_PER_UNKNOWN * tangent_terms(sample.dim)
    assert max(case.noise for case in cases) == 0.1 and max(case.density for case in cases) == 5.0


def test_each_change_lowers_the_error(results):
    error = {row["variant"]: row["error"] for row in results[0] if row["part"] == "changes"}
    assert set(error) == set(analysis.VARIANTS)
    assert error[analysis.DEFAULT] < error["curved tangents"] < error[analysis.PUBLISHED]


def test_a_case_that_parts_share_is_fitted_once(results):
    shared = [
        row
        for row in results[0]
        if (row["manifold"], row["variant"]) == ("S² × S²", analysis.DEFAULT)
        and not (row["told"] or row["noise"] or row["density"])
    ]
    assert [row["part"] for row in shared] == ["error", "noise", "density"]
    assert len({row["seconds"] for row in shared}) == 1


def test_tables_name_wrong_factors_and_take_medians():
    rows = [
        {"manifold": "a", "n": 10, "error": error, "right": error < 1, "found": [4]}
        for error in (0.1, 0.3, 1.5)
    ]
    rows.append({"manifold": "b", "n": 2000, "error": 0.2, "right": True, "found": [2, 2]})
    assert analysis._table("Title", rows, "manifold", "n")[3:] == [
        "| manifold | 10 | 2,000 |",
        "|---|---|---|",
        "| a | 0.3000 (4) |  |",
        "| b |  | 0.2000 |",
    ]


def test_too_few_points_are_a_row_and_not_the_end():
    row = analysis.run_case(analysis.Case("error", "S² × S²", 20, 0))
    assert not row["right"] and row["error"] == np.pi / 2
    assert "points" in row["notes"][0]


def test_an_interrupted_command_draws_what_it_has_and_ends_with_130(tmp_path, monkeypatch, capsys):
    fit = analysis.run_case
    done: list[analysis.Case] = []

    def stop_at_the_fifth(case):
        if len(done) == 4:  # two to warm up, and two that the first three rows share
            raise KeyboardInterrupt
        done.append(case)
        return fit(case)

    monkeypatch.setattr(analysis, "run_case", stop_at_the_fifth)
    monkeypatch.setitem(analysis.PRESETS, "quick", TINY)
    assert analysis.main(["--out", str(tmp_path)]) == 130
    written = {path.name for path in tmp_path.iterdir()}
    figures = {"error_against_n.png", "spectra.png", "changes.png"}
    assert written == {"results.json", "results.md", *figures}
    printed = capsys.readouterr()
    assert "stopped after 3 rows" in printed.err and "spectra.png" in printed.out
