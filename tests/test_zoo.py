"""The zoo: its truths have the right shapes, its halves are apart, and its judge judges rightly."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import zoo
from benchmarks.zoo_cases.case import HALVES, MODULES, all_cases, all_families
from benchmarks.zoo_cases.clouds import Cloud, orthonormal, product, push
from benchmarks.zoo_cases.embeddings import tubes
from benchmarks.zoo_cases.judge import (
    OUTCOMES,
    Answer,
    angle_between,
    angle_by_piece,
    answer_of,
    groupings,
    outcome,
    plain,
)
from benchmarks.zoo_cases.noise import mean_root
from benchmarks.zoo_cases.runner import Worker, received
from benchmarks.zoo_cases.tables import report
from benchmarks.zoo_cases.warped import accepted, berger
from geodis import GeoManCER

CASES = all_cases()
BY_NAME = {case.name: case for case in CASES}


def test_there_are_enough_cases_of_enough_families():
    assert len(CASES) >= 200 and len({case.name for case in CASES}) == len(CASES)
    assert len(all_families()) >= 30
    assert {case.group for case in CASES} == set(MODULES)


def test_whole_families_belong_to_one_half_and_every_group_has_both():
    halves = Counter(case.half for case in CASES)
    assert abs(halves["tuning"] - halves["held-out"]) <= 0.1 * len(CASES)
    for kind in all_families():
        assert {case.half for case in CASES if case.family == kind.name} == {kind.half}
    for group in MODULES:
        assert {case.half for case in CASES if case.group == group} == set(HALVES)


@pytest.mark.parametrize("group", MODULES)
def test_truths_are_orthonormal_and_as_large_as_the_points(group):
    for case in [case for case in CASES if case.group == group][::6]:
        cloud = case.cloud(0)
        points = cloud.points
        assert points.ndim == 2 and points.dtype == float and np.isfinite(points).all(), case.name
        for frames in cloud.tangents:
            assert frames.shape == (len(points), frames.shape[1], points.shape[1]), case.name
            known = frames[np.isfinite(frames).all(axis=(1, 2))][:50]
            gram = known @ known.swapaxes(1, 2)
            np.testing.assert_allclose(
                gram, np.broadcast_to(np.eye(gram.shape[1]), gram.shape), atol=1e-7
            )
        dims = [tuple(sorted(dims, reverse=True)) for dims in case.accepted]
        assert dims == list(case.accepted), case.name
        if case.accepted and cloud.tangents and not case.strength:
            assert all(sum(dims) == sum(cloud.dims) for dims in case.accepted), case.name


def test_a_case_is_drawn_again_and_seeds_differ():
    case = BY_NAME["spheres: S^2 x S^2, n = 2,000"]
    np.testing.assert_array_equal(case.cloud(0).points, case.cloud(0).points)
    assert not np.array_equal(case.cloud(0).points, case.cloud(1).points)


def test_tubes_keep_lengths_along_both_factors():
    straight = product("S^2 x S^2", 40, 0).turned(6, 0)
    step = 1e-6 * straight.tangents[0][:, 0]
    curled = tubes(1.5)(straight.points + step) - tubes(1.5)(straight.points)
    np.testing.assert_allclose(np.linalg.norm(curled, axis=1), 1e-6, rtol=1e-4)


def test_the_hopf_fibre_has_the_length_that_it_is_given():
    x = product("S^3", 30, 1).points
    along = np.column_stack([-x[:, 1], x[:, 0], -x[:, 3], x[:, 2]])  # i z
    fibres = Cloud(x, [along[:, None]])
    for fibre in (0.2, 0.7):
        moved = berger(30, fibre, 1)
        rest = np.sqrt(1 - fibre**2)
        tangent = push(fibres, lambda z, f=fibre: f * z).tangents[0]
        np.testing.assert_allclose(moved.points[:, :4], fibre * x)
        # The Hopf image stands still along the fibre, so that the truth holds its direction.
        inside = np.pad(tangent, ((0, 0), (0, 0), (0, 3)))
        within = inside @ moved.tangents[0].swapaxes(1, 2)
        np.testing.assert_allclose(np.linalg.norm(within, axis=2), 1)
        across = np.linalg.norm(moved.points[:, 4:], axis=1)
        np.testing.assert_allclose(across, rest / 2)


def test_the_mean_root_of_counts():
    rng = np.random.default_rng(0)
    rates = np.array([0.3, 4.0, 50.0])
    drawn = np.sqrt(rng.poisson(rates, (200_000, 3))).mean(axis=0)
    np.testing.assert_allclose(mean_root()(rates), drawn, rtol=0.01)


def test_weak_non_products_may_be_called_either():
    assert accepted((2, 2), 0.01, 0.02) == ((4,), (2, 2))
    assert accepted((2, 2), 0.05, 0.02) == ((4,),)


@pytest.mark.parametrize(
    ("answer", "dims", "real", "expected"),
    [
        (Answer((2, 2), angle=0.02), [(2, 2)], False, "right, silent"),
        (Answer((2, 2), flagged=True, angle=0.02), [(2, 2)], False, "right, flagged"),
        (Answer((2, 2), angle=0.4), [(2, 2)], False, "dimensions only"),
        (Answer((2, 2), angle=0.02, lost=0.6), [(2, 2)], False, "wrong, silent"),
        (Answer((4,)), [(2, 2)], False, "wrong, silent"),
        (Answer((4,)), [(2, 2), (4,)], False, "right, silent"),
        (Answer((4,), flagged=True), [(2, 2)], False, "wrong, flagged"),
        (Answer((2, 2)), [], False, "wrong, silent"),
        (Answer(flagged=True, refused="No."), [], False, "wrong, flagged"),
        (Answer((2, 1)), [], True, "wrong, silent"),
        (Answer((2, 1), flagged=True), [], True, "right, flagged"),
        (Answer((2,)), [], True, "right, silent"),
        (Answer(crash="ValueError: no"), [(2,)], False, "crash"),
    ],
)
def test_outcomes(answer, dims, real, expected):
    assert outcome(answer, dims, real) == expected


def test_angles_are_taken_to_the_union_that_fits_best():
    axes = np.broadcast_to(np.eye(4), (5, 4, 4))
    true = [axes[:, :2], axes[:, 2:3], axes[:, 3:]]
    assert angle_between(true, true) == pytest.approx(0)
    assert angle_between([axes[:, :2], axes[:, 2:]], true) == pytest.approx(0)
    assert angle_between([axes[:, 1:3], axes[:, [0, 3]]], true) == pytest.approx(np.pi / 2)
    assert angle_between([axes[:, :1]] * 4, true) is None
    swapped = [np.concatenate([a[:3], b[3:]]) for a, b in zip(true[1:], true[:0:-1], strict=True)]
    assert angle_between(swapped, true[1:]) == pytest.approx(0.4 * np.pi / 2)
    pieces = Cloud(np.zeros((5, 4)), true[1:], np.array([0, 0, 0, 1, 1]))
    assert angle_by_piece(swapped, pieces) == pytest.approx(0)
    unknown = [frames.copy() for frames in true]
    unknown[0][:4] = np.nan
    assert angle_between(true, unknown) == pytest.approx(0)
    assert [len(list(groupings(m))) for m in range(5)] == [1, 1, 2, 5, 15]


def test_a_fit_is_judged_and_refusals_and_crashes_are_answers(monkeypatch):
    case = BY_NAME["numbers of points: S^1 x S^1, n = 100"]
    fitted = answer_of(case, 0)
    assert sum(fitted.dims) == 2 and fitted.crash is None and fitted.seconds > 0
    refused = answer_of(replace(case, fit={"dim": 9}), 0)
    assert refused.flagged and "dim=9" in refused.refused
    monkeypatch.setattr(GeoManCER, "fit", lambda self, X: 1 / 0)
    crashed = answer_of(case, 0)
    assert crashed.crash == "ZeroDivisionError: division by zero"
    assert zoo.row(case, crashed)["outcome"] == "crash"


def test_figures_of_unknown_types_can_be_written():
    assert plain({"a": (np.float64(1), object)})["a"][0] == 1


def test_a_worker_that_dies_or_takes_too_long_is_a_crash():
    class Pipe:
        closed = False

        def recv(self):
            raise EOFError

        def close(self):
            self.closed = True

    class Process:
        exitcode = -9

        def join(self): ...

        def kill(self): ...

    for ready, problem in ((True, "died with exit code -9"), (False, "stopped after 1200 s")):
        answer = received(Worker(Process(), Pipe(), name="one", until=0.0), ready)
        assert answer == Answer(crash=problem)
    assert received(Worker(Process(), Pipe(), name="one", until=np.inf), False) is None


def test_rows_and_tables_of_every_outcome(tmp_path):
    answers = (Answer((2, 2), angle=0.1), Answer((4,), flagged=True), Answer(crash="E: no"))
    rows = [zoo.row(case, answers[j % 3]) for j, case in enumerate(CASES)]
    zoo.write(tmp_path, 0, rows)
    page = (tmp_path / "zoo.md").read_text()
    assert all(name in page for name in OUTCOMES) and report(rows, "x").startswith("# The zoo")
    kept = zoo.kept(tmp_path / "zoo.json", 0, CASES)
    assert len(kept) == len(CASES) and not zoo.kept(tmp_path / "zoo.json", 1, CASES)
    assert {entry["outcome"] for entry in kept.values()} >= {"crash", "wrong, flagged"}


def test_presets_halves_and_families():
    assert 15 <= len(zoo.chosen("all", None, "quick")) <= 30
    tuning = zoo.chosen("tuning", None, "full")
    assert {case.half for case in tuning} == {"tuning"}
    assert {case.family for case in zoo.chosen("all", "grids,slow walks", "full")} == {
        "grids",
        "slow walks",
    }
    with pytest.raises(SystemExit, match="must name"):
        zoo.chosen("all", "nothing", "full")


def test_orthonormal_keeps_the_largest_directions():
    frames = np.array([[[1.0, 0, 0], [0, 2.0, 0], [1.0, 0, 0]]])
    kept = orthonormal(frames, 2)
    np.testing.assert_allclose(kept[0, :, 2], 0, atol=1e-12)
