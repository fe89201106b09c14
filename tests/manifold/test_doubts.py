"""What a doubt is, and that every registered one is raised, here or where its check is tested."""

import copy
import json
import pickle
import re
from dataclasses import FrozenInstanceError, asdict, replace
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest

from geodis import GeoManCER, intrinsic_dimension, product_manifold
from geodis.manifold.confidence.product_test import PairTest, ProductTest
from geodis.manifold.confidence.stretch import CoupledPeriods, Strength
from geodis.manifold.doubts import Doubt, Kind, doubt, doubt_kinds, with_sentences
from geodis.manifold.fit_doubts import doubts_of_dimension, late_doubts
from geodis.manifold.flat import flat_axes, flat_part
from geodis.manifold.flat.differences import Edges
from geodis.manifold.flat.flat_axes import _why_tried
from geodis.manifold.flat.flat_graph import CurveOrder
from geodis.manifold.flat.flat_part import _doubts_of_unrolling, split_flat_part
from geodis.manifold.flat.independent_rotation import ContrastResult, _disagreement
from geodis.manifold.flat.unroll import Unrolling
from geodis.manifold.holonomy.factor_count import Departure
from geodis.manifold.local.angles import TangentError
from geodis.manifold.local.curved_fit_ratio import FitRatios
from geodis.manifold.local.dimension import _by_agreement, _by_filling, _by_fits, _Run, _undecided
from geodis.manifold.local.dimension_methods import DistanceEstimates
from geodis.manifold.maps import factor_map
from geodis.manifold.preparation.rows import SampledPoints, whole_problem_doubts
from geodis.manifold.split_result import collect_evidence
from geodis.manifold.topology import topology_of as naming
from geodis.manifold.topology.scalar_curvature import ScalarCurvature
from geodis.manifold.topology.space_names import Facts, name_space
from geodis.manifold.topology.topology_of import topology_of
from geodis.report.sentences import reasons_of_doubt
from tests import ROOT
from tests.manifold.test_evidence import split

KINDS = doubt_kinds()
ESTIMATE = intrinsic_dimension(product_manifold("S^2", 300, random_state=0).points)
DOUBTFUL = replace(ESTIMATE, verdict="doubtful", doubts=(doubt("evenly-spaced", "dimension"),))
UNDECIDED = replace(DOUBTFUL, verdict="undecided")


# ---- what a doubt is ----


def test_a_doubt_is_its_sentence_and_has_its_parts():
    found = doubt("counts", "rows")
    assert isinstance(found, str)
    assert found == "the values are whole numbers: if they are counts, fit with prepare='sqrt'"
    assert repr([found]) == f'["{found}"]' and json.loads(json.dumps([found])) == [found]
    assert (found.code, found.kind, found.about, found.weight) == ("counts", "noise", "rows", 1)
    assert found.statement == "the values are whole numbers"
    assert found.advice == (
        "The values are whole numbers. If they are counts, fit with prepare='sqrt'."
    )
    with pytest.raises(FrozenInstanceError):
        found.weight = 0.0


def test_a_doubt_survives_copies():
    found = doubt("outliers", ("factor", 1), count=np.int64(3), n=10)
    assert type(found.evidence["count"]) is int
    for other in (copy.deepcopy(found), pickle.loads(pickle.dumps(found)), replace(found)):
        assert isinstance(other, Doubt) and other == found and asdict(other) == asdict(found)
    assert replace(found, weight=0.0).weight == 0 and replace(found, weight=0.0) == found


def test_results_have_sentences_in_json():
    kept = with_sentences(DOUBTFUL)["doubts"]
    assert kept == DOUBTFUL.doubts and type(kept[0]) is str


def test_every_kind_of_doubt_is_used():
    assert {of.kind for of in KINDS.values()} == set(get_args(Kind))


@pytest.mark.parametrize("of", KINDS.values(), ids=list(KINDS))
def test_every_kind_says_when_and_what_to_do(of):
    assert re.fullmatch("[a-z]+(-[a-z]+)*", of.code) and of.why.endswith(".") and of.remedy
    assert not of.sentence.endswith(".") and not of.remedy.endswith(".") and of.weight in (0, 1)


def test_estimates_that_weigh_nothing_are_not_remarkable():
    fills = doubt("fills", "dimension")
    assert DOUBTFUL.remarkable and not replace(DOUBTFUL, doubts=(fills,)).remarkable
    assert str(UNDECIDED) == f"{UNDECIDED.account}: {UNDECIDED.doubts[-1].remedy}"


# ---- every doubt is raised ----


def test_checks_whose_limits_few_points_reach(monkeypatch):
    """The limits are moved here: what lies beyond them takes many points, or luck."""
    sample = product_manifold("S^1 x S^1(2)", 400, random_state=0).points
    monkeypatch.setattr(flat_axes, "MIN_FIELD_RATIO", np.inf)
    monkeypatch.setattr(factor_map, "ROUGH", -1.0)
    est = GeoManCER(verbose=0).fit(sample)
    assert "unclear-flatness" in [one.code for one in est.flat_evidence_.doubts]
    assert est.topology_[1].doubts[-1].code == "rough-map"
    monkeypatch.setattr(naming, "MANY_BAD", -1.0)
    (found,) = topology_of(sample[:, :3], 2).doubts
    assert found.code == "no-patches"
    monkeypatch.setattr(flat_part, "MAX_INSTABILITY", -1.0)
    box = np.random.default_rng(0).uniform(size=(150, 2)) * [1, 3]
    frames = np.broadcast_to(np.eye(2), (150, 2, 2))
    doubts = split_flat_part(box, frames).evidence.doubts
    assert "unstable-directions" in [one.code for one in doubts]


def estimate_by_fits(*, best=2.0, evenness=1.0, below=0.0, thick=1.0, noise=0.0, agreed=None):
    """An estimate from one scale, at which dimension 2 is the smallest that passes."""
    fits = FitRatios((20,), ((1.9, best),), ((1.0, thick),), ((1.0, evenness),), ((0.0, below),))
    run = _Run(2, (20,), (best,))
    blank = replace(ESTIMATE, noise=noise, n_directions=6, doubts=(), two_nn=np.inf)
    coarser = _Run(1, (40,), (3.0,))
    return _by_fits(blank, run, [run, coarser], fits, agreed).doubts


def distances(two_nn):
    return DistanceEstimates(3.0, two_nn, n_neighbors=15, n_points=300, fine=3.0, fall=0.0)


def unrolling(**numbers):
    edges = Edges(np.zeros(0, int), np.zeros(0, int), 2)
    nothing = np.zeros(0)
    numbers = {"rel": 0.0, "hol": 0.0, "turn": 0.0} | numbers
    return Unrolling(
        coordinates=np.zeros((2, 2)), frames=np.zeros((2, 2, 3)), steps=np.zeros((0, 2)),
        base=nothing, weights=nothing, edges=edges, tree=np.zeros(2, int), **numbers,
    )  # fmt: skip


def product(value, scales=(1.0, 1.0), splits=((1,), (1,)), same=0.0, periods=None):
    change = Strength(value, value, value, 0.0)
    pairs = tuple(PairTest(f, 1 - f, change, change, 0.0) for f in (0, 1))
    periods = periods or CoupledPeriods()
    return ProductTest(pairs, scales, (0.0, 0.0), splits, same=same, periods=periods).doubts


def space(**facts):
    curvature = ScalarCurvature(1.0, 0.1, "positive", True, euler=facts.pop("euler", 2.0))
    known = {"boundary": False, "orientable": True, "n_pieces": 0, "betti": None, "size": 1.0}
    return name_space(Facts(2, curvature=curvature, **{**known, **facts}))[1]


def contrasts_that_disagree():
    turned = np.array([[0.8, 0.6], [-0.6, 0.8]])
    entropy, support = (
        ContrastResult(name, own, (1, 1), 0.0, ())
        for name, own in (("entropy", np.eye(2)), ("support", turned))
    )
    return _disagreement((entropy, support), entropy)


def few_flat_points():
    points = np.random.default_rng(0).uniform(size=(80, 2))
    frames = np.broadcast_to(np.eye(2), (80, 2, 2))
    return split_flat_part(points, frames).evidence.doubts


def page_with_refits():
    found = {(1, 1): 1}
    confidence = SimpleNamespace(found=found, agreeing=0, tally="No split was found.")
    est = SimpleNamespace(doubts_=(), confidence_=confidence)
    analysis = SimpleNamespace(inspection=None, settings=SimpleNamespace(dim=2))
    return reasons_of_doubt(analysis, est)


def late(dims=(1,), told=False, order=None, **changed):
    evidence = collect_evidence(replace(split((2,)), tangent_error=TangentError(0.5, 0.0)))
    return late_doubts(dims, replace(ESTIMATE, **changed), told, evidence, order)


WRONG = {"verdict": "doubtful", "doubts": DOUBTFUL.doubts, "dim": 3}
RAISED = {
    "incomplete-sample": lambda: SampledPoints(np.ones((2, 2)), np.arange(2), 3).doubts,
    "whole-problem": lambda: whole_problem_doubts(split((2, 1), 20_000), 20_000),
    "unclear-dimension": lambda: doubts_of_dimension(2, DOUBTFUL, given=False),
    "limited-dimension": lambda: doubts_of_dimension(1, ESTIMATE, given=False),
    "given-dimension": lambda: doubts_of_dimension(1, ESTIMATE, given=True),
    "unconfirmed-dimension": lambda: late((2,), told=True, **WRONG),
    "hidden-factor": lambda: late(spread=0.1),
    "branching-curve": lambda: late(order=CurveOrder(9.0, 5), dim=1),
    "no-curve": lambda: late(order=CurveOrder(9.0), told=True),
    "wrong-order": lambda: late(order=CurveOrder(9.0)),
    "noisy-surface": lambda: late((2,)),
    "unmeasured-departure": lambda: collect_evidence(
        replace(split((2, 1)), tangent_error=None)
    )[0].doubts,
    "departure": lambda: collect_evidence(
        replace(split((2, 1)), departure=Departure(0.2, 0.1, 0.3, 0.0))
    )[0].doubts,
    "unrolled-alone": lambda: (_why_tried(split((2,))),),
    "wrong-lengths": lambda: _doubts_of_unrolling(unrolling(), 0.1, None, False),
    "turning-frame": lambda: _doubts_of_unrolling(unrolling(turn=0.5), 0.0, None, False),
    "unexplained-steps": lambda: _doubts_of_unrolling(unrolling(rel=0.5), 0.0, None, False),
    "few-for-directions": few_flat_points,
    "contrasts-disagree": contrasts_that_disagree,
    "overlaid": lambda: product(0.0, same=0.5),
    "common-loops": lambda: product(0.0, periods=CoupledPeriods(0.3, (0, 1))),
    "no-map": lambda: product(0.0, scales=(1.0, 0.5)),
    "changing-lengths": lambda: product(0.1),
    "map-splits": lambda: product(0.0, splits=((2, 2), (1,))),
    "refits-disagree": page_with_refits,
    "nearly-as-long": estimate_by_fits,
    "smaller-dimension": estimate_by_fits,
    "changes-with-scale": estimate_by_fits,
    "thick-surface": lambda: estimate_by_fits(noise=0.01),
    "uneven-rest": lambda: estimate_by_fits(evenness=0.0),
    "mixed-dimensions": lambda: estimate_by_fits(below=0.9),
    "distances-disagree": lambda: estimate_by_fits(agreed=3),
    "evenly-spaced": estimate_by_fits,
    "filled-by-noise": lambda: _by_filling(
        ESTIMATE, FitRatios((), (), (), (), ()), distances(2.0), 0.1, 2
    ).doubts,
    "fills": lambda: _by_filling(
        ESTIMATE, FitRatios((), (), (), (), ()), distances(3.0), 0.0, 3
    ).doubts,
    "few-for-fits": lambda: _by_agreement(
        replace(ESTIMATE, mle=3.4), 3, FitRatios((), (), (), (), ()), 100
    ).doubts,
    "no-dimension": lambda: _undecided(ESTIMATE, distances(3.0), 300).doubts,
    "one-method": lambda: intrinsic_dimension(
        np.random.default_rng(0).uniform(size=(100, 2)), method="mle"
    ).doubts,
    "few-for-name": lambda: space(boundary=None),
    "no-name": lambda: space(euler=-4.0),
    "contradiction": lambda: space(euler=1.5),
    "no-betti-numbers": space,
    "flat-map": lambda: topology_of(
        np.random.default_rng(0).uniform(size=(600, 2)), 2, flat=False
    ).doubts,
}  # fmt: skip


@pytest.mark.parametrize("code", RAISED)
def test_a_doubt_is_raised_with_its_numbers(code):
    found = {one.code: one for one in RAISED[code]()}
    assert code in found and found[code].remedy in found[code]
    assert "{" not in found[code] and found[code].statement in found[code]


def test_all_other_doubts_are_raised_where_their_checks_are_tested():
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    assert [code for code in KINDS if not any(f'"{code}"' in text for text in tests)] == []
