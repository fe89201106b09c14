"""Sets, measures, trends and claims of the comparison of two frameworks."""

import numpy as np
import pytest
import torch

import geodis
from analyses.shared.studies.framework_sets import (
    APART,
    FOREGROUND,
    FROM_FILES,
    SHIFTED,
    SPRITES,
    framework_set,
)
from analyses.shared.studies.paired_comparisons import compare_pairs
from analyses.shared.studies.published_files import files_of
from analyses.shared.studies.seed_claims import SeedClaim
from analyses.vae_frameworks import __main__ as analysis
from analyses.vae_frameworks.__main__ import PRESETS, plan
from analyses.vae_frameworks.framework_claims import BOX, LEARNT, LEARNT_AT, claims_with
from analyses.vae_frameworks.loss_left import LEFT, learnt_lines, share_left
from analyses.vae_frameworks.spacing_trend import trend
from geodis import models
from geodis.base import InputError
from geodis.kernels import LossKernel


def test_noise_fills_the_foreground_alone():
    plain, filled = (framework_set(name, 16) for name in (SPRITES, FOREGROUND[100]))
    first, second = (grid.images([5])[0].astype(int) for grid in (plain, filled))
    outside = first.max(axis=-1) == 0
    assert (second[outside] == 0).all() and (second[~outside] < 255).all()


def test_published_sets_are_named_with_files_that_are_there(tmp_path):
    path = tmp_path / "shapes.h5"
    path.touch()
    files = files_of([f"shapes3d={path}"], FROM_FILES, "shapes3d=3dshapes.h5")
    assert files == {"shapes3d": str(path)}
    for wrong, said in ((f"other={path}", "must be one of"), ("cars3d=/no/where", "there is none")):
        with pytest.raises(InputError, match=said):
            files_of([wrong], FROM_FILES, "shapes3d=3dshapes.h5")
    sizes = PRESETS["quick"]
    added = [case for case in plan(sizes, [*files]) if case not in plan(sizes)]
    assert {case["data"] for case in added} == {"shapes3d"} and len(added) == 12


def test_every_claim_is_on_cases_that_are_planned():
    planned = {(case["data"], case["loss"], case["model"]) for case in plan(PRESETS["quick"])}
    for claim in claims_with():
        for kind in (claim.first, claim.second):
            assert (kind["data"], kind["loss"], kind["model"]) in planned


def test_what_is_not_published_gets_no_verdict_about_the_paper():
    claim = SeedClaim("", "not published (why)", {"model": "a"}, {"model": "b"}, "mig")
    level = [0.5, 0.51, 0.52]
    for other, said in (
        ([0.3, 0.3, 0.31], "above"),
        ([0.7, 0.72, 0.71], "below"),
        ([0.4, 0.7, 0.4], "not told apart"),
    ):
        assert claim.verdict(level, other, compare_pairs(level, other, 0.05)) == said


def test_the_trend_over_spacings_has_a_sign_and_needs_scores():
    def rows(level, slope):
        return [
            {
                "case": {"data": data, "model": "BetaVAE", "seed": seed},
                "mig": level + slope * overlap / 100 + 0.001 * seed,
            }
            for overlap, data in SHIFTED.items()
            for seed in range(5)
        ]

    found = {key: trend(rows(*key), "BetaVAE", "mig") for key in [(0.5, 0.2), (0.5, -0.2)]}
    assert [cells[-1] for cells in found.values()] == ["reproduced", "not reproduced"]
    low = [trend(rows(LEARNT_AT / 2, slope), "BetaVAE", "mig")[-1] for slope in (0.01, -0.01)]
    assert low == ["reproduced, of low scores", "cannot tell (no mean above 0.1; power 0.61)"]
    assert trend(rows(0.5, 0.2)[:5], "BetaVAE", "mig")[-1] == "not finished"


@pytest.mark.parametrize("blurred", [False, True])
def test_the_share_of_the_loss_left_is_of_decodings_as_they_are(blurred):
    random = np.random.default_rng(0)
    images = np.zeros((40, 9, 9, 1), np.float32)
    images[np.arange(40), random.integers(0, 9, 40), random.integers(0, 9, 40)] = 1
    loss = LossKernel.box(4) if blurred else "mse"
    moments = models.channel_moments(images)
    model = models.BetaVAE((1, 9, 9), 2, network="vector", loss=loss, standardise=moments)
    x = torch.from_numpy(images).permute(0, 3, 1, 2)
    with torch.no_grad():
        decoded = model.to_data(model.decode(model.posterior(x)[0]))
        assert decoded.min() < 0  # cutting would change the loss
        mean = x.mean(dim=0, keepdim=True).expand_as(x).contiguous()
        if blurred:
            own, of_mean = (float(loss(x, y).mean()) for y in (decoded, mean))
        else:
            own, of_mean = (float((x - y).square().mean()) for y in (decoded, mean))
    assert share_left(model, images) == pytest.approx(own / of_mean, rel=1e-4)


def test_runs_that_leave_much_of_their_loss_are_left_out_of_the_figure_that_left_them_out():
    rows = [
        {"case": {"data": APART, "loss": loss, "model": "AdaGVAE"}, "mig": mig, "dci": mig, **left}
        for loss, mig, left in (
            (BOX, 0.4, {LEFT: 0.2}),
            (BOX, 0.0, {LEFT: 0.9}),
            (LEARNT, 0.8, {}),  # not measured
        )
    ]
    lines = [line for line in learnt_lines(rows) if "| AdaGVAE |" in line]
    assert f"| {BOX} | AdaGVAE | 1 of 2 | 0.400 | 0.400 |" in lines
    assert f"| {LEARNT} | AdaGVAE | 0 of 0 |  |  |" in lines


@pytest.mark.long
def test_published_sets_are_trained_on_and_stand_in_the_tables(tmp_path, monkeypatch, capsys):
    torch.set_num_threads(1)
    path = tmp_path / "shapes.h5"
    path.touch()
    squares = framework_set(SHIFTED[0], 16)
    monkeypatch.setattr(geodis, "published_grid", lambda name, path, image_size: squares)
    monkeypatch.setattr(analysis, "RUNS", ())
    line = ["--preset", "tiny-for-tests", "--out", str(tmp_path / "out")]
    assert analysis.main([*line, "--published", f"shapes3d={path}"]) == 0
    text = (tmp_path / "out" / "results.md").read_text()
    assert "8 of 8 runs are finished" in text and "| shapes3d | MSE | BetaVAE | 2 |" in text
    assert "MIG, AdaGVAE: shapes3d - squares | above (Fig. 3.7) | 0 |" in text
    assert analysis.main([*line, "--published", "shapes3d"]) == 2
