"""Given factors are matched to found ones through the maps."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import geodis as gd
from geodis.base.check import InputError
from geodis.scores import match_given_factors


@pytest.fixture(scope="module")
def sphere_and_circle():
    sample = gd.product_manifold("S^2 x S^1(2)", 1200, random_state=0)
    est = gd.GeoManCER(verbose=0).fit(sample.points)
    return sample.points, est


def given(points):
    rng = np.random.default_rng(0)
    return gd.as_factors(
        {
            "x": points[:, 0],
            "y": points[:, 1],
            "z": points[:, 2],
            "turn": np.arctan2(points[:, 4], points[:, 3]),
            "nothing": rng.standard_normal(len(points)),
            "half": np.where(points[:, 2] > 0, "north", "south"),
        },
        periods={"turn": 2 * np.pi},
        groups={"direction": ["x", "y", "z"]},
    )


def test_every_factor_goes_to_its_own(sphere_and_circle):
    points, est = sphere_and_circle
    by_name = {match.given: match for match in match_given_factors(est, given(points))}
    assert list(by_name) == ["direction", "turn", "nothing", "half"]
    direction, turn = by_name["direction"], by_name["turn"]
    assert (direction.found, direction.kind) == (0, "sphere")
    assert (turn.found, turn.kind) == (1, "circle")
    assert min(direction.told, direction.linear, turn.told, turn.linear) > 0.995
    assert max(direction.elsewhere, turn.elsewhere) < 0.05
    assert by_name["nothing"].found == -1 and "in no factor" in str(by_name["nothing"])
    half = by_name["half"]
    assert half.found == 0 and half.coordinate == "factor0_sphere_z" and half.along > 0.5
    assert str(turn).startswith("turn: factor 1, circle, R^2 1.000")


def test_rotated_points_and_other_units_change_nothing(sphere_and_circle):
    points, est = sphere_and_circle
    turned = np.linalg.qr(np.random.default_rng(1).standard_normal((5, 5)))[0]
    again = gd.GeoManCER(verbose=0).fit(3 * points @ turned)
    one, two = (match_given_factors(fit, given(points)) for fit in (est, again))
    for before, after in zip(one[:2], two[:2], strict=True):
        assert before.found == after.found and before.kind == after.kind
        assert after.told == pytest.approx(before.told, abs=0.003)


def test_bad_input_gets_a_sentence(sphere_and_circle):
    _, est = sphere_and_circle
    with pytest.raises(InputError, match="est must be a fitted GeoManCER; got None"):
        match_given_factors(None, np.eye(3))
    with pytest.raises(NotFittedError):
        match_given_factors(gd.GeoManCER(), np.eye(3))
    with pytest.raises(InputError, match="as many rows; got 1200 and 3"):
        match_given_factors(est, np.eye(3))
    with pytest.raises(InputError, match="at least two values"):
        match_given_factors(est, np.ones((1200, 1)))
