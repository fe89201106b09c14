"""The analyses of distances run, reproduce what was published, and say why where they do not."""

import json
from collections.abc import Callable

import numpy as np
import pytest

from analyses import dataset_distances, xysquares_overlap
from geodis import FactorGrid, XYSquares

pytestmark = pytest.mark.long

TINY_OVERLAP = xysquares_overlap.Preset(spacings=(4, 8), n_pairs=20_000)
TINY_SETS = dataset_distances.Preset(1500, 3000, 3000, 8)


@pytest.fixture(scope="module")
def overlap(tmp_path_factory):
    out = tmp_path_factory.mktemp("overlap")
    return xysquares_overlap.run(TINY_OVERLAP, out, name="tiny", verbose=False), out


def test_overlap_writes_tables_and_figures(overlap):
    rows, out = overlap
    names = {path.name for path in out.iterdir()}
    assert names == {"results.json", "results.md", "matrices.png", "correlations.png"}
    content = json.loads((out / "results.json").read_text())
    assert len(content["rows"]) == len(rows) == 10
    assert [item["adversarial"] for item in content["spacings"]] == [False, True]
    text = (out / "results.md").read_text()
    assert "no order / 0.52" in text and "nothing is left to order" in text


@pytest.mark.parametrize("spacing", range(1, 9))
@pytest.mark.parametrize("loss", xysquares_overlap.TABLE_4_2)
def test_every_published_row_is_reproduced(spacing, loss):
    preset = xysquares_overlap.Preset(n_pairs=2000)
    row = xysquares_overlap.run_case(spacing, loss, True, preset)
    assert row["exact"] and row["relative_error_of_the_table"] < 1e-12
    for key, difference in xysquares_overlap.differences(row).items():
        if key.startswith("factor"):
            assert abs(difference) < 0.0051  # two decimals, and ours is exact


def test_random_pairs_of_the_published_table_are_reproduced(overlap):
    for row in overlap[0]:
        if row["self_pairs"] and row["spacing"] == 8:
            for difference in xysquares_overlap.differences(row).values():
                assert abs(difference) < 0.02  # of 20,000 pairs
        assert bool(xysquares_overlap.explain(row)) >= (
            not row["self_pairs"] and row["spacing"] == 8
        )


def test_distances_from_the_table_of_places_are_those_of_images():
    for loss in ("mse", "gaussian:31"):
        preset = xysquares_overlap.Preset(n_pairs=100)
        truth, seen, error = xysquares_overlap.random_distances(5, loss, False, preset)
        assert error < 1e-12 and len(truth) == len(seen) == 100


def test_a_difference_that_self_pairs_do_not_explain_is_not_explained_away():
    row = {"spacing": 3, "loss": "mse", "self_pairs": True, "note": "", "factor_pearson": 0.5}
    assert "not explained" in xysquares_overlap.explain({**row, "published_factor_pearson": 0.86})
    assert not xysquares_overlap.explain({**row, "published_factor_pearson": 0.505})


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    out = tmp_path_factory.mktemp("sets")
    rng = np.random.default_rng(0)
    own = FactorGrid.from_arrays(
        rng.integers(0, 256, (12, 4, 4), dtype=np.uint8), list(np.ndindex(3, 4)), names=["a", "b"]
    )
    grids: dict[str, Callable[[], FactorGrid]] = {"xysquares": XYSquares, "own": lambda: own}
    results = dataset_distances.run(TINY_SETS, out, grids, name="tiny", verbose=False)
    return results, out


def test_sets_write_tables_and_figures(sets):
    results, out = sets
    names = {path.name for path in out.iterdir()}
    figures = {
        f"{kind}_{name}.png"
        for kind in ("matrices", "distribution")
        for name in ("xysquares", "own")
    }
    assert names == {"results.json", "results.md", *figures}
    content = json.loads((out / "results.json").read_text())
    assert [item["name"] for item in content["sets"]] == ["xysquares", "own"]
    assert "0.0104 / 0.0104" in (out / "results.md").read_text()
    assert [row["factor"] for row in dataset_distances.rows_of(results[1])].count("random") == 1


def test_xysquares_rows_reproduce_what_was_published(sets):
    rows = dataset_distances.rows_of(sets[0][0])
    for row in rows:
        for key, value in row["published"].items():
            ours = row[key] if key in ("mean", "std") else row["with self pairs"][key]
            assert ours == pytest.approx(value, abs=0.05)  # of 3,000 pairs
        if row["factor"] not in ("random", dataset_distances.TOGETHER):
            assert row["mean"] == pytest.approx(0.0104, abs=1e-4)
            assert row["without"]["spearman mse"] == 0


def test_labels_and_circles_stand_beside_the_same_as_numbers():
    rng = np.random.default_rng(0)
    names, kinds = ("turn", "shape", "x"), ("cyclic", "labels", "numbers")
    known = FactorGrid((8, 4, 3), names, kinds=kinds).known_factors(range(96))
    turn = 2 * np.pi * known.values[:, 0] / 8
    shown = np.stack([np.cos(turn), np.sin(turn), known.values[:, 2], rng.random(96)], axis=1)
    images = (127 + 40 * shown).astype(np.uint8).reshape(96, 2, 2)
    grid = FactorGrid.from_arrays(images, known)
    tiny = dataset_distances.Preset(*[200] * 4)
    rows = {
        row["factor"]: row
        for row in dataset_distances.rows_of(dataset_distances.run_set("own", grid, tiny))
    }
    around, plain = (rows["turn"][kind]["spearman mse"] for kind in ("as what they are", "without"))
    assert around > 0.8 > 0.7 > plain
    assert not rows["shape"]["as what they are"] and rows["shape"]["without"]
    mean = rows[dataset_distances.TOGETHER]
    assert mean["as what they are"]["spearman mse"] > mean["without"]["spearman mse"]


def test_what_is_not_reproduced_is_said(sets, monkeypatch):
    wrong = {"xysquares": {"random": (0.5, 0.0), "all": (0.0104, 0.0)}}
    monkeypatch.setattr(dataset_distances, "TABLE_3_1", wrong)
    notes = dataset_distances.check(sets[0][0])
    assert any("random, mean" in note and "published 0.5" in note for note in notes)


def test_numbers_of_a_set_that_is_only_alike_are_no_claim():
    notes = dataset_distances.check({"name": "sprites"})
    assert len(notes) == 2 and "not as a claim" in notes[0] and "its circle" in notes[1]
    assert dataset_distances.published_beside("sprites", "scale")["mean"] == 0.0250
    assert dataset_distances.published_beside("xysquares", "y_G")["spearman box"] == 0.97
    assert dataset_distances.published_beside("mpi3d", "size") == {}


def test_published_files_are_opened_by_name(monkeypatch, tmp_path):
    opened = []
    monkeypatch.setattr(
        dataset_distances.gd, "published_grid", lambda *a, **k: opened.append((a, k))
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.npz").touch()
    grids = dataset_distances.chosen_grids(["dsprites=d.npz"], ["sprites"])
    assert list(grids) == ["sprites", "dsprites"]
    grids["dsprites"]()
    assert opened == [(("dsprites", "d.npz"), {"image_size": 64})]


@pytest.mark.parametrize("item", ["mnist=m.npz", "dsprites", "dsprites=none.npz"])
def test_published_files_that_cannot_be_opened_are_told(item, tmp_path, capsys):
    assert dataset_distances.main(["--out", str(tmp_path), "--published", item]) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert len(told) == 1 and "must be" in told[0] and item.rpartition("=")[2] in told[0]


def test_slow_sets_take_fewer_pairs():
    thin = dataset_distances.thinned(TINY_SETS, 16)
    assert (thin.importance_pairs, thin.blurred_pairs, thin.n_traversals) == (93, 187, 2)
    assert set(dataset_distances.THINNED) <= set(dataset_distances.BUILT_IN)


@pytest.mark.parametrize("analysis", [xysquares_overlap, dataset_distances])
def test_an_interrupt_ends_with_130(analysis, monkeypatch, tmp_path, capsys):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(analysis, "run", stop)
    assert analysis.main(["--out", str(tmp_path)]) == 130
    assert "stopped" in capsys.readouterr().err
