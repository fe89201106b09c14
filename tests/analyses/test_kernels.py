"""The analysis of loss kernels runs, and its tables have the published numbers beside ours."""

import json

import numpy as np
import pytest
from scipy import stats

from analyses import loss_kernels
from analyses.shared.loss_kernels_published import COLUMNS, beyond_rounding
from analyses.shared.loss_kernels_report import plateau, tables
from geodis.base.progress import Stages
from geodis.data.grids.squares import XYObject
from geodis.kernels import LossKernel, learn_kernel

pytestmark = pytest.mark.long

# Largest distance from values computed by other software, and from the rounding of published ones.
CLOSE = 0.003
ROWS = loss_kernels.Preset(n_pairs=2**20)  # as published


@pytest.fixture(autouse=True)
def _few_checked_pairs(monkeypatch):
    monkeypatch.setattr(loss_kernels.xysquares_overlap, "CHECKED_PAIRS", 20)


def check_row(name, loss):
    with_self, without = loss_kernels.table_rows(name, loss, ROWS)
    for row in (with_self, without):
        for column, value in zip(COLUMNS, row["recomputed"], strict=True):
            assert row[column] == (None if value is None else pytest.approx(value, abs=CLOSE))
    for column, value in zip(COLUMNS, with_self["published"], strict=True):
        assert beyond_rounding(with_self[column], value) < CLOSE
    assert without["published"] is None
    assert (without["factor_spearman"] is None) == (name == "mse")
    assert without["random_spearman"] < with_self["random_spearman"]


@pytest.mark.parametrize("name", ["mse", "gaussian r31", "box r31"])
def test_rows_of_kernels_by_hand_are_reproduced(name):
    losses = {"gaussian r31": LossKernel.gaussian(31), "box r31": LossKernel.box(31)}
    check_row(name, losses.get(name, "mse"))


@pytest.mark.skipif(
    not loss_kernels.PUBLISHED_KERNELS.exists(), reason="the published kernels are not here"
)
@pytest.mark.parametrize("radius", [31, 63])
def test_rows_of_published_kernels_are_reproduced(radius):
    weights = np.load(loss_kernels.PUBLISHED_KERNELS)[f"learnt_abs_r{radius}_xy8"]
    check_row(f"published kernel r{radius}", LossKernel(weights))


def test_the_plateau_is_that_of_ordered_values_without_ties():
    rng = np.random.default_rng(0)
    shares = np.array([0.5, 0.3, 0.2])
    classes = np.sort(rng.choice(3, size=20_000, p=shares))
    found = stats.spearmanr(classes, np.arange(20_000)).statistic
    assert plateau(shares) == pytest.approx(found, abs=0.005)
    values = np.where(classes == 1, -1.0, np.arange(20_000))  # the second class tied, and first
    swapped = np.where(classes == 1, -1, classes)
    found = stats.spearmanr(swapped, values).statistic
    assert plateau(shares, tied=shares[1]) == pytest.approx(found, abs=0.005)


def test_displacements_tie_too_few_pairs_to_lift_the_ceiling_at_random():
    step = np.array([8, *(2 * (8 - k) for k in range(1, 8))]) / 64  # of one coordinate
    x, y = np.triu_indices(8)
    share = step[x] * step[y] * np.where(x == y, 1, 2)  # of one square, its coordinates swapped
    places = np.arange(len(share))
    three = np.sort(np.stack(np.meshgrid(places, places, places), -1).reshape(-1, 3), axis=1)
    shares, sums = share[three].prod(1), (x + y)[three].sum(1)
    _, kind = np.unique(three[sums > 0], axis=0, return_inverse=True)
    cubes = [
        (np.bincount(group.ravel(), shares[sums > 0] / shares[sums > 0].sum()) ** 3).sum()
        for group in (kind, sums[sums > 0])
    ]
    assert np.sqrt(1 - cubes[1]) == pytest.approx(0.99792, abs=1e-5)
    assert np.sqrt((1 - cubes[1]) / (1 - cubes[0])) == pytest.approx(0.99792, abs=1e-5)


def test_every_part_runs(tmp_path, monkeypatch):
    preset = loss_kernels.Preset(
        n_pairs=2000, test_pairs=100, feature_steps=2, radius=5, squares=(8,), learnt=("ours r31",)
    )
    sets = {"XYObject": XYObject(spacing=8, palette="rgb", levels=2)}
    made = loss_kernels.Analysis.__init__

    def small(self, *arguments):
        made(self, *arguments)
        self.other_sets = sets

    monkeypatch.setattr(loss_kernels.Analysis, "__init__", small)
    monkeypatch.setattr(
        loss_kernels,
        "learn_kernel",
        lambda grid, radius, **options: learn_kernel(
            grid, radius, **{**options, "pairs": 300, "held_out": 100, "steps": 5}
        ),
    )
    results = loss_kernels.run(preset, tmp_path, name="tiny", verbose=False)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        "results.json",
        "results.md",
        "kernels.png",
        "kernels_by_square.png",
        "learning.png",
        "augmented_traversals.png",
        "losses",
    }
    content = json.loads((tmp_path / "results.json").read_text())
    assert len(content["sets"]) == 5 and len(content["transfer"]) == 3
    text = (tmp_path / "results.md").read_text()
    assert text == tables(results, preset.test_pairs)
    assert "0.97" in text and "/ 0.94 |" in text and "no order / 0.52" not in text


def test_what_was_learnt_before_is_not_learnt_again(tmp_path):
    work = loss_kernels.Analysis(loss_kernels.Preset(), tmp_path, "tiny", Stages("", verbose=0))
    kernel = LossKernel.box(1)
    kernel.made = {"seed": 0, "steps": 1, "held_out": 0.5, "seconds": {}}
    first = work.loss("box", lambda checkpoint: kernel)
    again = work.loss("box", lambda checkpoint: pytest.fail("learnt again"))
    assert first.made == again.made and again.radius == 1
