"""Recordings: enough of them, their truths have the right shapes, and the tables count rightly."""

from collections import Counter

import numpy as np
import pytest

from analyses.recordings import fits_of_recordings as recordings
from benchmarks import dimension
from benchmarks.recording_cases.recording import MODULES, all_cases
from benchmarks.zoo_cases.case import HALVES
from benchmarks.zoo_cases.judge import Answer

CASES = all_cases()
BY_NAME = {case.name: case for case in CASES}
RING = BY_NAME["cells: ring: peak 10, 50 cells, n = 2,000"]


def test_there_are_enough_and_half_of_the_families_are_held_out():
    assert len(BY_NAME) == len(CASES) >= 150
    halves = Counter(case.half for case in {case.family: case for case in CASES}.values())
    assert halves["tuning"] == halves["held-out"]
    for module in MODULES:
        assert {case.half for case in CASES if case.group == module} == set(HALVES)
    for family in {case.family for case in CASES}:
        assert len({case.half for case in CASES if case.family == family}) == 1


def test_truths_agree_with_one_another():
    for case in CASES:
        assert case.real or case.dims == tuple(sorted({sum(dims) for dims in case.accepted}))


@pytest.mark.parametrize("group", ["tuned_cells", "noisy_products", "built_in_tables"])
def test_points_and_tangents_have_the_shapes_of_the_truth(group):
    for case in [case for case in CASES if case.group == group][::9]:
        cloud = case.cloud(0)
        assert cloud.points.ndim == 2 and np.isfinite(cloud.points).all(), case.name
        for frames in cloud.tangents:
            assert frames.shape[::2] == cloud.points.shape, case.name
        if cloud.tangents:
            assert sum(cloud.dims) in case.dims, case.name


def test_slow_draws_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.recording_cases.recording.CACHE", tmp_path)
    case = BY_NAME["pictures: a turn: blob, 72 views, noise 0"]
    first = case.cloud(0).points
    assert first.shape[0] == 72 and len(list(tmp_path.iterdir())) == 1
    np.testing.assert_array_equal(case.cloud(0).points, first)


def test_a_quick_run_takes_the_first_of_every_family():
    cases = recordings.chosen("quick", "tuning", None)
    assert len(cases) == len({case.family for case in cases}) and RING not in cases


def test_a_page_counts_what_is_right():
    sure = recordings.row(RING, Answer((1,), dim=1, verdict="clear"))
    bold = recordings.row(RING, Answer((2,), dim=2, verdict="clear"))
    page = recordings.report([sure, bold])
    assert "| tuning | yes | 1 of 2 (50.0%) | 1 of 2 (50.0%) | 1 of 2 (50.0%) |" in page
    assert "2, clear" in page


def test_an_estimate_counts_as_the_nearest_whole_number():
    row = dimension.measured(RING, 0, False, None)
    assert row["found"]["geodis"] == 1 and dimension.right(row, "geodis")
    row["found"]["other"] = 1.6
    assert not dimension.right(row, "other")
    page = dimension.report([row])
    assert "| geodis | 1 of 1 (100.0%)" in page and "Nowhere." in page
