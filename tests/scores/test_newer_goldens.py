"""Scores against values of public implementations (benchmarks/score_golden_values.py)."""

import numpy as np
import pytest

import geodis as gd
from geodis import scores
from geodis.scores.information.edi import joint_information
from tests import GOLDEN
from tests.scores._golden import NAMES, load

with np.load(GOLDEN / "newer_scores" / "values.npz", allow_pickle=False) as file:
    VALUES = dict(file)

# Ties of latents are broken by noise, here and there by other noise.
BROKEN_TIES = 0.01


@pytest.mark.parametrize("name", NAMES)
def test_exact_scores(name):
    data = load(name)
    z, v = data["latents"], data["factors"]
    med = scores.med(z, v)
    ours = {
        "mcc_pearson": scores.mcc(z, v),
        "mcc_spearman": scores.mcc(z, v, method="spearman"),
        "weak_mcc_cca": scores.weak_mcc(z, v, method="cca", shuffle=False),
        "minimality": scores.minimality(z, v),
        "sufficiency": scores.sufficiency(z, v),
        "dcimig": scores.dcimig(z, v),
        "jemmig": scores.jemmig(z, v),
        "med": med,
        "med_top": med.details["top"],
    }
    for key, value in ours.items():
        if f"{name}_{key}" in VALUES:  # the peers divide by the spread of constant latents
            # Canonical variates there are found by iteration.
            tolerance = 2e-6 if key == "weak_mcc_cca" else 1e-9
            assert float(value) == pytest.approx(float(VALUES[f"{name}_{key}"]), abs=tolerance), key


@pytest.mark.parametrize("name", NAMES[::2])
def test_infomec(name):
    data = load(name)
    score = scores.infomec(data["latents"], data["factors"], random_state=0)
    for value, key in (
        (float(score), "infom"),
        (score.details["compactness"], "infoc"),
        (score.details["explicitness"], "infoe"),
    ):
        expected = float(VALUES[f"{name}_{key}"])
        if np.isfinite(expected):
            tolerance = 1e-4 if key == "infoe" else BROKEN_TIES
            assert value == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_exclusivity_by_counts(name):
    data = load(name)
    for joint, peer in (("largest", "max"), ("sum", "sum")):
        options = {"method": "equal_width", "bins": 30, "joint": joint, "random_state": 0}
        score = scores.edi(data["latents"], data["factors"], **options)
        for value, part in (
            (float(score), "d"),
            (score.details["compactness"], "c"),
            (score.details["explicit"], "i"),
        ):
            # The peer adds 1e-10 to what it divides by.
            assert value == pytest.approx(float(VALUES[f"{name}_edi_{peer}_{part}"]), abs=1e-8)


@pytest.mark.parametrize("name", ["latents_s03", "latents_s05", "latents_s13"])
def test_joint_information(name):
    data = load(name)
    latents = data["latents"] / data["latents"].astype(float).std(axis=0)
    found = [joint_information(latents, codes) for codes in data["factors"].T.astype(int)]
    assert found == pytest.approx(VALUES[f"{name}_edi_joint"].tolist(), abs=1e-9)


@pytest.mark.parametrize("name", ["latents_s05", "latents_s06", "latents_s13", "latents_s15"])
def test_single_neurons(name):
    data = load(name)
    score = scores.snc(data["latents"], data["factors"], shuffle=False)
    # Edges lie halfway between values here and at values there; ties, of other files, split them.
    assert float(score) == pytest.approx(float(VALUES[f"{name}_snc"]), abs=0.005)


@pytest.mark.parametrize("kind", ["torus", "turned", "noisy", "uneven", "random"])
def test_linear_symmetry(kind):
    code = VALUES[f"lsbd_{kind}_code"]
    angles = np.stack(np.meshgrid(np.arange(12) * 30, np.arange(9) * 40, indexing="ij"), -1)
    factors = gd.as_factors(
        angles.reshape(-1, 2), names=["a", "b"], periods={"a": 360.0, "b": 360.0}
    )
    score = scores.d_lsbd(code.reshape(108, -1), factors)
    assert float(score) == pytest.approx(float(VALUES[f"lsbd_{kind}"]), abs=1e-9)
    if kind != "random":  # turned the other way is as good, and so is w + 9 of 9 angles
        turns = np.abs(VALUES[f"lsbd_{kind}_turns"])
        wrapped = np.minimum(turns, [12, 9] - turns)
        assert score.details["turns"].tolist() == wrapped.tolist()
