"""Recordings: enough of them, their truths have the right shapes, and the tables count rightly."""

from collections import Counter

import numpy as np
import pytest

from analyses.recordings import fits_of_recordings as recordings
from benchmarks import dimension, recording_factors
from benchmarks.recording_cases import dimension_tables, factor_tables
from benchmarks.recording_cases.dimension_rivals import Table
from benchmarks.recording_cases.factor_rivals import CLOCK, components, in_time
from benchmarks.recording_cases.known_states import CALLED, WALKS, KnownStates, known_states, named
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
    row = dimension.measured(RING, 0)
    assert row["found"]["geodis"] == 1 and dimension_tables.right(row, "geodis")
    row["found"]["other | a"], row["found"]["other | b"] = 1.6, 1.4
    assert not dimension_tables.right(row, "other | a")
    page = dimension_tables.report([row])
    assert "| geodis |  | 1 of 1 (100.0%)" in page and "Nowhere." in page
    assert "| other | b | 1 of 1 (100.0%)" in page  # the setting that is right
    assert dimension_tables.unpacked(dimension_tables.packed([row])) == [row]
    # Measured again, it keeps what is known of others.
    row["found"]["geodis"] = 7.0
    again = dimension.measured(RING, 0, known=row)
    assert again["found"] == row["found"] | {"geodis": 1.0}


def test_settings_are_those_of_the_tuning_half():
    def row(half, found):
        base = {"half": half, "within": True, "dims": [2], "verdict": "clear", "cpu": {}}
        return base | {"name": half, "family": half, "found": {"geodis": 2.0} | found}

    rows = [
        row("tuning", {"m | a": 2.2, "m | b": 3.0}),
        row("held-out", {"m | a": None, "m | b": 2.0}),
    ]
    assert dimension_tables.chosen_settings(rows)["m"] == "m | a"
    page = dimension_tables.shares(rows, {"m": "m | a"})
    assert "| m | a | 1 of 1 (100.0%) |  | 0 of 1 (0.0%) |  | 1, b |" in page


def test_rivals_see_the_nearest_points():
    rows = np.vstack([np.random.default_rng(0).uniform(size=(900, 2)), [[0.5, 0.5]] * 3])
    own = Table.of(rows, 0)
    assert len(own.rows) == 901  # a place counts once
    near = np.linalg.norm(own.rows[own.indices[0]] - own.rows[0], axis=1)
    np.testing.assert_allclose(near, own.distances[0])
    patch = next(own.around(50, 1))
    moved = np.linalg.svd(patch - patch.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(own.spectra(50)[0], moved**2 / 49)


def test_states_of_a_population_belong_to_its_points():
    (known,) = known_states([RING.name], 0)
    n = len(known.points)
    np.testing.assert_array_equal(known.points, RING.cloud(0).points[:n])
    tangent = RING.cloud(0).tangents[0][:n, 0]
    # The clean points move along the tangent with the angle.
    order = np.argsort(known.rings[0])
    step = np.diff(known.points[order][::150], axis=0)
    along = np.abs(np.einsum("nd,nd->n", step, tangent[order][::150][:-1]))
    assert np.median(along / np.linalg.norm(step, axis=1)) > 0.4


def test_a_ring_is_told_by_all_and_named():
    (known,) = known_states([RING.name], 0)
    row = recording_factors.described(known)
    ours = recording_factors.automatic(known)
    assert ours["names"] == ["circle"] and not ours["flagged"]
    assert recording_factors.with_dim(known) is ours  # the dimension was found
    rival = recording_factors.of_rival({"": components}, known)
    for own in (ours, rival):
        assert own["R2"] > 0.97 and own["leaked"] == 0 and own["ring"] > 0.95
    problem = recording_factors.of_rival({"": lambda case: case.points[len(case.points)]}, known)
    assert problem["R2"] == 0 and "IndexError" in problem["problem"]
    row["methods"] = {m: own | {"cpu": 1.0} for m, own in (("GeoManCER", ours), ("ICA", rival))}
    page = factor_tables.report([row])
    assert "| ICA | 1 of 1 (100.0%) |" in page and "Nowhere." in page


def test_time_alone_tells_states_that_move_slowly():
    angle = np.linspace(0, 4 * np.pi, 1500)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    slow, quick = (
        KnownStates("walk", WALKS[0], "tuning", own, ("ring",), [own])
        for own in (ring, np.random.default_rng(0).permutation(ring))
    )
    settings = in_time()[CLOCK]
    told = [recording_factors.of_rival(settings, case, whole=True) for case in (slow, quick)]
    assert told[0]["R2"] > 0.99 and told[1]["R2"] < 0.1
    # It stands among the walks and not among methods that populations are asked by.
    row = recording_factors.described(slow) | {"methods": {CLOCK: told[0] | {"cpu": 0.1}}}
    assert CLOCK in factor_tables.in_order_of_time([row])
    assert CLOCK not in factor_tables.coordinates([row])


def test_all_columns_of_a_whole_are_judged():
    (known,) = known_states([RING.name], 0)
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0][:2]
    columns = known.coordinates[0] @ turned
    whole = recording_factors.of_rival({"": lambda case: columns}, known, whole=True)
    assert whole["R2"] > 0.999


@pytest.mark.parametrize(
    ("spaces", "numbers"),
    [
        (("ring", "ring"), (2, 1)),
        (("grid", "ring"), (3, 3)),
        (("sphere", "ring"), (1, 1)),
        (("sphere", "sphere"), (0, 2)),
        (("arena", "ring"), (1, 0)),
    ],
)
def test_holes_and_names_of_products(spaces, numbers):
    case = KnownStates("", "", "tuning", np.zeros((1, 1)), spaces, [])
    assert case.betti == numbers
    assert named(spaces, [CALLED[space][0][0] for space in spaces[::-1]])
    assert not named(spaces, ["sphere"]) and not named(spaces, ["unknown", "circle"])
    assert named(["arena"], ["interval", "interval"]) and named(["arena"], ["cap"])


def test_what_columns_tell_of_states():
    rng = np.random.default_rng(0)
    angle, other = rng.uniform(0, 2 * np.pi, (2, 1200))
    ring, second = (np.column_stack([np.cos(a), np.sin(a)]) for a in (angle, other))
    case = KnownStates("", "", "tuning", ring, ("ring", "ring"), [ring, second])
    exact = recording_factors.judged([3 * ring, second], [np.hstack([ring, second])], case)
    assert exact["R2"] > 0.99 and exact["leaked"] < 0.1 and exact["ring"] > 0.999
    mixed = recording_factors.judged([np.hstack([ring, second])] * 2, [ring], case)
    assert mixed["leaked"] > 0.9 and mixed["ring"] < 0.1
    assert recording_factors.told_by(np.zeros((1200, 0)), ring) == 0.0
    # Two found factors may belong to one, and rows without coordinates count for nothing.
    lost = second.copy()
    lost[:40] = np.nan
    shared = recording_factors.shared_out([lost[:, :1], lost[:, 1:], ring], case)
    assert [own.shape[1] for own in shared] == [2, 2]


def test_bars_are_counted():
    bars = [[1.0, 4.0], [1.0, 3.9], [1.0, 1.5]]
    assert [factor_tables.counted(bars, ("ratio", least)) for least in (1.3, 2.0, 5.0)] == [3, 2, 0]
    assert [factor_tables.counted(bars, ("gap", least)) for least in (2.0, 6.0)] == [2, 0]
