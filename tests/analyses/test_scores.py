"""The analysis of scores runs, keeps what is finished, and shows what it says it shows."""

import json

import numpy as np
import pytest

from analyses import metric_agreement as analysis
from analyses.shared import metric_agreement_report as report
from analyses.shared.synthetic_codes import FAMILIES, code_of, values_of
from geodis import FactorGrid
from geodis.scores.registry import choose_scores

pytestmark = pytest.mark.long

TINY = analysis.Preset(
    sizes=(4, 4, 4, 4),
    levels=(0.0, 1.0),
    seeds=(0,),
    failure_seeds=(0,),
    collapsed=(0, 2),
    entangled_points=600,
    shaped_points=600,
)
FIGURES = {
    "levels.png",
    "defects.png",
    "agreement.png",
    "missing_factors.png",
    "collapse.png",
    "entangling.png",
}


# What the figures draw and the tests look at.
FEW = (
    "mig",
    "modularity",
    "sap",
    "sap_continuous",
    "dci",
    "explicitness",
    "interventional",
    "axis_ratio",
    "gaussian_total_correlation",
    "mutual_info_score",
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    out = tmp_path_factory.mktemp("analysis")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analysis, "SCORES", FEW)
        rows, complete = analysis.run(TINY, out, name="tiny", verbose=False)
    assert complete
    return rows, out


def test_every_score_that_is_named_exists():
    assert {entry.name for entry in choose_scores(FEW)} < {
        entry.name for entry in choose_scores(analysis.SCORES)
    }


def part(results, name):
    return [row for row in results[0] if row["part"] == name]


def test_every_part_is_written_and_drawn(results):
    rows, out = results
    assert {path.name for path in out.iterdir()} == {"results.json", "results.md", *FIGURES}
    assert len(json.loads((out / "results.json").read_text())["rows"]) == len(rows)
    text = (out / "results.md").read_text()
    for title in ("Defects", "Agreement", "Missing", "Collapsed", "entangled twin", "Circles"):
        assert title in text


def test_scores_fall_where_they_should_and_stay_where_they_should(results):
    falls = report.reactions(part(results, "family"))
    assert list(falls.columns) == list(FAMILIES)
    for family in ("noisy", "rotated", "mixed", "missing"):
        assert falls.loc["mig", family] > 0.5 and falls.loc["dci_disentanglement", family] > 0.3
    for family in ("monotone", "scaled", "collapsed"):
        assert abs(falls.loc["mig", family]) < 0.05 and abs(falls.loc["factor_vae", family]) < 0.05
    # What is against intuition, and said so.
    assert falls.loc["modularity", "collapsed"] > 0.5 and falls.loc["explicitness", "rotated"] < 0.1
    assert report.against_intuition("collapsed", falls.loc["modularity", "collapsed"])
    assert not report.against_intuition("duplicated", 1.0)


def test_the_linear_classifier_forgives_one_factor_and_the_vote_does_not(results):
    rows = {(row["kept"], row["filling"]): row["scores"] for row in part(results, "missing")}
    assert rows[3, "nothing"]["beta_vae"] == pytest.approx(1, abs=0.01)
    assert rows[3, "nothing"]["factor_vae"] == pytest.approx(0.75, abs=0.03)
    assert rows[2, "nothing"]["beta_vae"] == pytest.approx(0.75, abs=0.03)
    assert rows[4, "noise"]["factor_vae"] == 1


def test_constant_latents_take_every_vote_only_where_they_are_not_pruned(results):
    rows = {row["collapsed"]: row for row in part(results, "collapse")}
    assert rows[0]["pruned"] == rows[0]["unpruned"] == rows[2]["pruned"] == 1
    assert rows[2]["unpruned"] == pytest.approx(0.25, abs=0.05)


def test_only_scores_with_factors_see_the_entangled_twin(results):
    rows = {row["code"]: row for row in part(results, "entangled")}
    before, after = rows["before"]["scores"], rows["after"]["scores"]
    for name in ("mig", "dci_disentanglement", "factor_vae", "sap_continuous"):
        assert after[name] < 0.5 * before[name]
    for name in ("gaussian_total_correlation", "mutual_info_score"):
        assert after[name] == pytest.approx(before[name], abs=0.05)
    assert min(rows["after"]["ks"]) > 1e-3


def test_grouped_scores_give_circles_and_spheres_their_due_and_others_do_not(results):
    rows = {(row["shape"], row["state"]): row["scores"] for row in part(results, "shapes")}
    for shape in ("circle", "sphere"):
        perfect, turned = rows[shape, "perfect"], rows[shape, "turned"]
        for name in ("block_r2", "grouped_modularity", "grouped_completeness"):
            assert perfect[name] > 0.97 > turned[name]
        assert max(perfect["mig"], perfect["infoc"]) < 0.9
        assert turned["grouped_explicitness"] > 0.97
    dependent = rows["dependent", "perfect"]
    assert min(dependent["minimality"], dependent["sufficiency"]) > 0.9 > dependent["mig"] + 0.2
    text = (results[1] / "results.md").read_text()
    assert "| block_r2 |" in text.partition("## Circles")[2]


def test_codes_begin_undamaged_and_keep_their_shape():
    grid = FactorGrid((3, 3, 3, 3))
    u = values_of(grid)
    assert u.min() == -1 and u.max() == 1
    for family in FAMILIES:
        whole = code_of(grid, family, 0.0, seed=1)
        related = np.abs(np.corrcoef(whole.T, u.T)[: whole.shape[1], whole.shape[1] :])
        assert (related.max(axis=0) > 0.95).all(), family
        assert len(code_of(grid, family, 1.0, seed=1)) == len(grid)
        np.testing.assert_array_equal(whole, code_of(grid, family, 0.0, seed=1))


def test_an_interrupted_command_draws_what_it_has_and_ends_with_130(tmp_path, monkeypatch, capsys):
    score = analysis.run_family
    done: list[tuple[object, ...]] = []

    def stop_at_the_fourth(*arguments):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(arguments)
        return score(*arguments)

    monkeypatch.setattr(analysis, "run_family", stop_at_the_fourth)
    monkeypatch.setattr(analysis, "SCORES", FEW)
    monkeypatch.setitem(analysis.PRESETS, "quick", TINY)
    assert analysis.main(["--out", str(tmp_path)]) == 130
    written = {path.name for path in tmp_path.iterdir()}
    drawn = {"levels.png", "defects.png", "agreement.png"}
    assert written == {"results.json", "results.md", *drawn}
    assert "stopped after 3 rows" in capsys.readouterr().err


@pytest.mark.parametrize("name", analysis.PRESETS)
def test_presets_have_every_family_and_the_undamaged_code(name):
    preset = analysis.PRESETS[name]
    texts = [text for text, _ in analysis.plan(preset)]
    assert all(f"{family} 0, seed 0" in texts for family in FAMILIES)
    assert preset.levels[0] == 0 and preset.levels[-1] == 1 and 0 in preset.collapsed
