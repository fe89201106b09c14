"""The table of all scores: its numbers, chance levels, intervals, and what is skipped."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import geodis as gd
from geodis import scores
from geodis.base.check import InputError
from geodis.data.factors import as_factors
from geodis.data.grids.grid import FactorGrid
from geodis.scores.registry import entries
from tests.scores.conftest import sample

FAST = ["mig", "modularity", "sap_continuous", "irs", "gaussian_total_correlation"]


def test_every_score_is_there_and_none_is_skipped(everything):
    table = everything[2]
    assert not table.skipped
    assert set(table.scores) == {entry.name for entry in entries() if entry.default}
    assert {"dci_disentanglement", "dci_completeness", "downstream_logistic_100"} <= set(
        table.frame.index
    )
    assert table.frame["value"].notna().all()


def test_values_are_those_of_the_functions(everything):
    latents, frame, table = everything
    # Scores that draw nothing.
    for name in ("mig", "robust_mig", "mig_sup", "modularity", "completeness", "irs"):
        assert table[name] == pytest.approx(float(getattr(scores, name)(latents, frame)), abs=1e-12)
    total = float(scores.gaussian_total_correlation(latents))
    assert table["gaussian_total_correlation"] == pytest.approx(total)
    assert table["wasserstein_correlation_norm"] == pytest.approx(
        float(scores.wasserstein_correlation(latents, normalised=True))
    )
    dci = table.scores["dci"]
    assert table["dci_disentanglement"] == float(dci)
    assert table["dci_completeness"] == dci.details["completeness"]


def test_chance_is_far_below_for_a_good_code_and_equal_for_noise():
    _, factors = sample()
    names = ["mig", "sap", "dci", "explicitness", "factor_vae", "distance_correlation"]
    for seed in range(3):
        good = gd.score_latents(factors * 1.0, factors, names, verbose=False, random_state=seed)
        assert (good.frame["value"] > good.frame["chance"] + 0.3).all()
        noise = np.random.default_rng(seed).standard_normal((600, 3))
        bad = gd.score_latents(noise, factors, names, chance=2, verbose=False, random_state=seed)
        assert (bad.frame["value"] - bad.frame["chance"]).abs().max() < 0.1


def test_unsupervised_scores_have_no_chance_and_lower_is_better(everything):
    frame = everything[2].frame
    unsupervised = frame[frame["family"] == "unsupervised"]
    assert unsupervised["chance"].isna().all() and (unsupervised["better"] == "lower").all()
    supervised = frame[frame["family"] != "unsupervised"]
    judged = supervised[~supervised.index.str.endswith("_efficiency")]
    assert judged["chance"].notna().all() and (supervised["better"] == "higher").all()


def test_a_score_has_the_same_value_alone_and_in_processes(everything):
    latents, frame, table = everything
    for name in ("factor_vae", "sap", "dci"):
        alone = gd.score_latents(latents, frame, [name], verbose=False)
        pd.testing.assert_frame_equal(
            alone.frame.drop(columns="seconds"),
            table.frame.loc[alone.frame.index].drop(columns="seconds"),
        )
    together = gd.score_latents(latents, frame, FAST, n_jobs=2, verbose=False)
    pd.testing.assert_frame_equal(
        together.frame.drop(columns="seconds"),
        table.frame.loc[together.frame.index].drop(columns="seconds"),
    )
    other = gd.score_latents(latents, frame, ["factor_vae"], verbose=False, random_state=1)
    assert other["factor_vae"] != table["factor_vae"]


def test_continuous_factors_are_skipped_or_binned_never_silent():
    latents, factors = sample()
    mixed = pd.DataFrame({"shape": factors[:, 0], "angle": latents[:, 0] + 0.5})
    names = ["mig", "sap", "sap_continuous", "informativeness_r2"]
    table = gd.score_latents(latents, mixed, names, verbose=False)
    assert set(table.frame.index) == {"sap_continuous", "informativeness_r2"}
    assert "'angle' is continuous" in table.skipped["mig"]
    assert "skipped mig, sap: factor 'angle'" in str(table)
    with pytest.raises(KeyError, match="mig: factor 'angle' is continuous"):
        table["mig"]
    binned = gd.score_latents(latents, mixed, names, bins=8, verbose=False)
    assert binned["mig"] == float(scores.mig(latents, scores.bin_factors(mixed, 8)))
    assert "in 8 bins of equal width: angle" in binned.frame.at["mig", "note"]
    assert binned.frame.at["sap_continuous", "note"] == ""


def test_labels_and_arrays_and_factors_are_the_same(tmp_path):
    latents, factors = sample()
    words = np.array(["box", "dot", "line"])[factors[:, 0]]
    frame = pd.DataFrame({"shape": pd.Categorical(words), "x": factors[:, 1]})
    path = tmp_path / "factors.csv"
    frame.to_csv(path, index=False)
    tables = [
        gd.score_latents(latents, given, ["mig", "irs", "sap_continuous"], verbose=False)
        for given in (frame, gd.load_factors(path), factors[:, :2])
    ]
    assert tables[0]["mig"] == tables[1]["mig"] == tables[2]["mig"]
    # Labels are no numbers, whatever their codes.
    notes = [table.scores["sap_continuous"].note for table in tables]
    assert notes == ["left out, labels: factor 'shape'"] * 2 + [""]
    assert tables[0]["sap_continuous"] == tables[1]["sap_continuous"]
    assert tables[1].factor_names == ("shape", "x")
    assert tables[2].factor_names == ("factor 0", "factor 1")


def test_a_code_of_a_grid_is_scored_by_its_grid():
    grid = FactorGrid((4, 5, 6), names=("a", "b", "c"))
    code = grid.factors(range(120)) * [1.0, 2.0, 0.5]
    table = gd.score_latents(code, grid, ["mig", "factor_vae", "axis_ratio"], verbose=False)
    assert table["factor_vae"] == 1 and table["axis_ratio"] == pytest.approx(1)
    assert table.factor_names == ("a", "b", "c") and table.n == 120
    images = np.random.default_rng(0).integers(256, size=(120, 4, 4, 1), dtype=np.uint8)
    drawn = FactorGrid.from_arrays(images, grid.factors(range(120)))
    calls = []

    def encoder(batch):
        calls.append(len(batch))
        return batch.reshape(len(batch), -1)

    table = gd.score_latents(encoder, drawn, ["mig", "factor_vae", "irs"], verbose=False)
    assert sum(calls) == 120 and not table.skipped


def test_a_large_grid_is_sampled(monkeypatch):
    monkeypatch.setattr(import_module("geodis.scores.score_latents"), "MAX_ROWS", 100)
    grid = FactorGrid((4, 5, 6))
    code = grid.factors(range(120)) * 1.0
    table = gd.score_latents(code, grid, ["mig", "factor_vae"], verbose=False)
    assert table.n == 100 and table["factor_vae"] == 1


def test_sampled_representations():
    latents, factors = sample()
    spread = np.full(latents.shape, 1.0)
    names = ["unsupervised", "factor_vae"]
    table = gd.score_latents(latents, factors, names, log_variances=spread, verbose=False)
    for name in ("gaussian_total_correlation", "mutual_info_score", "wasserstein_correlation_norm"):
        assert table[f"{name}_sampled"] < table[name]
    sampled = scores.gaussian_total_correlation(latents, log_variances=spread)
    assert table["gaussian_total_correlation_sampled"] == pytest.approx(float(sampled))
    with pytest.raises(InputError, match="log_variances must have the shape of the latents"):
        gd.score_latents(latents, factors, log_variances=spread[:10], verbose=False)


def test_intervals_hold_the_value_and_shrink_with_rows():
    widths = []
    for n in (200, 1800):
        latents, factors = sample(n=n)
        names = ["mig", "sap_continuous", "distance_correlation"]
        table = gd.score_latents(latents, factors, names, intervals=30, chance=0, verbose=False)
        low, value, high = (table.frame[c].to_numpy() for c in ("low", "value", "high"))
        assert (low < high).all() and (low - 0.05 < value).all() and (value < high + 0.05).all()
        assert table.frame["chance"].isna().all() and "low   high" in str(table)
        widths.append(high - low)
    assert (widths[1] < widths[0]).all()


@pytest.mark.parametrize("name", [entry.name for entry in entries()])
def test_degenerate_input_gives_numbers_or_a_reason(name):
    """Constant, duplicate and integer latents, one factor, a class of one row, two rows."""
    latents, factors = sample(n=120)
    rare = factors.copy()
    rare[0, 0] = 9
    still = np.column_stack([factors[:, :2], np.zeros(120, int)])
    for z, v in (
        (np.zeros((120, 3)), factors),
        (np.column_stack([latents[:, [0, 0]], np.ones(120)]), factors),
        (factors, factors),
        (latents.astype(np.float16), rare),
        (latents, still),
        (latents[:, :1], factors[:, 0]),
        (latents[:2], factors[:2]),
    ):
        table = gd.score_latents(z, v, [name], verbose=False)
        if table.skipped:
            assert list(table.skipped) == [name] and len(table.skipped[name]) > 20
        else:
            assert table.frame["value"].notna().all()


def test_bad_input_is_refused_before_any_work():
    latents, factors = sample()
    with pytest.raises(InputError, match="as many rows; got 600 and 500"):
        gd.score_latents(latents, factors[:500])
    latents[3, 1] = np.nan
    with pytest.raises(InputError, match="latents must be finite; got NaN in 1"):
        gd.score_latents(latents, factors)
    with pytest.raises(InputError, match="chance must be at least 0"):
        gd.score_latents(factors, factors, chance=-1)


def test_factors_of_any_kind_become_numbers_once():
    frame = pd.DataFrame({"word": ["b", "a", "b"], "level": [0.5, 0.25, 0.5]})
    known = as_factors(frame)
    assert known.values.tolist() == [[1, 0.5], [0, 0.25], [1, 0.5]]
    assert known.names == ("word", "level") and list(known.categories) == ["word"]


def test_a_chance_level_that_cannot_be_scored_does_not_stop_the_table(monkeypatch):
    """With few rows the held-out rows of a permutation may lack every class."""
    missing = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        factors = (np.arange(9) < 2).astype(int)  # one to learn from, one to be judged by
        table = gd.score_latents(
            rng.standard_normal((9, 2)), factors, ["explicitness"], random_state=seed, verbose=False
        )
        if not table.skipped:
            assert np.isfinite(table["explicitness"])
            missing += int(np.isnan(table.frame.at["explicitness", "chance"]))
    assert missing > 0


def test_infinite_scores_have_no_interval():
    latents, factors = sample()
    twice = np.column_stack([latents, latents])
    names = ["gaussian_total_correlation", "modularity"]
    table = gd.score_latents(twice, factors, names, intervals=3, verbose=False)
    assert np.isinf(table["gaussian_total_correlation"])
    assert np.isnan(table.frame.at["gaussian_total_correlation", "low"])
    assert table.frame.at["modularity", "low"] < table.frame.at["modularity", "high"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_jobs": 0}, "n_jobs must be at least 1, or -1 for all cores; got 0"),
        ({"n_jobs": 1.5}, "n_jobs must be an integer; got 1.5"),
        ({"chance": "often"}, "chance must be an integer; got 'often'"),
        ({"chance": 1.5}, "chance must be an integer; got 1.5"),
        ({"intervals": 2.7}, "intervals must be an integer; got 2.7"),
        ({"bins": 1}, "bins must be between 2 and 4096; got 1"),
    ],
)
def test_settings_are_checked_before_any_work(options, message):
    with pytest.raises(InputError, match=message):
        gd.score_latents(*sample(), **options)


def test_labels_without_end_are_neither_binned_nor_regressed():
    latents, _ = sample()
    frame = pd.DataFrame({"id": [f"image {i}" for i in range(600)]})
    table = gd.score_latents(latents, frame, ["mig", "dci"], bins=5, verbose=False)
    assert set(table.skipped) == {"mig", "dci"} and "600 different labels" in str(table)


@pytest.mark.parametrize(
    "identity",
    [[f"img_{i}.png" for i in range(400)], range(400), [f"cell {i % 300}" for i in range(400)]],
)
def test_a_column_that_names_rows_is_left_out_and_said(identity):
    rng = np.random.default_rng(0)
    known = rng.integers(4, size=(400, 2))
    latents = known + 0.1 * rng.standard_normal((400, 2))
    plain = {"shape": known[:, 0], "x": known[:, 1]}
    names = ["mig", "dci", "downstream_logistic"]
    alone, beside = (
        gd.score_latents(latents, table, names, verbose=False)
        for table in (plain, {"id": list(identity), **plain})
    )
    assert beside.factor_names == ("shape", "x")
    pd.testing.assert_series_equal(beside.frame["value"], alone.frame["value"])
    assert "left out, for it names rows: id" in str(beside)
    assert not beside.skipped


def test_numbers_that_are_not_called_row_numbers_stay():
    table = {"time": np.arange(400), "x": np.tile([0, 1], 200)}
    scored = gd.score_latents(np.arange(400.0)[:, None], table, ["dci"], verbose=False)
    assert scored.factor_names == ("time", "x")


def test_scores_that_see_no_groups_say_why_they_are_low_beside_those_that_do():
    turn = np.random.default_rng(0).integers(12, size=600) * 30.0
    factors = gd.as_factors({"turn": turn, "size": turn % 90}, periods={"turn": 360.0})
    angle = np.deg2rad(turn)
    code = np.column_stack([np.cos(angle), np.sin(angle), turn % 90])
    options = {"groups": [[0, 1]], "chance": False, "verbose": False}
    table = gd.score_latents(code, factors, ["mig", "explicitness", "dci", "block_r2"], **options)
    why = "latents one by one: a factor of several (0, 1) may be low by design"
    assert table.remarks() == [f"mig, dci: {why}"]
    plain = gd.score_latents(code, factors, ["mig"], chance=False, verbose=False)
    assert plain["mig"] == table["mig"] < 0.7 < 0.95 < table["block_r2"]


def test_an_efficiency_is_not_held_against_chance():
    rng = np.random.default_rng(0)
    factors = rng.integers(3, size=(400, 1))
    table = gd.score_latents(factors + 0.0, factors, ["downstream_logistic"], verbose=False)
    chance = table.frame["chance"]
    assert np.isnan(chance["downstream_logistic_efficiency"])
    assert chance.drop("downstream_logistic_efficiency").notna().all()
