"""Files of embeddings find their row beside the published table, with the MIG that they have."""

import numpy as np
import pandas as pd
import pytest

import geodis as gd
from analyses.compute_scaling.encoder_files import (
    PUBLISHED_ENCODERS,
    controls,
    encoder_rows,
    rows_of_files,
)
from analyses.compute_scaling.scaling_claims import exact_rank_sum, exact_rank_test
from analyses.compute_scaling.scaling_report import encoder_lines
from geodis.base import InputError


@pytest.fixture
def factors():
    return np.random.default_rng(0).integers(0, 5, (2000, 2))


def test_files_stand_beside_the_row_of_their_name(factors, tmp_path):
    pd.DataFrame(factors, columns=["x", "y"]).to_csv(tmp_path / "factors.csv", index=False)
    np.save(tmp_path / "vit_l_14.npy", factors.astype(float))
    np.save(tmp_path / "mine.npy", np.random.default_rng(1).standard_normal((2000, 3)))
    files = [tmp_path / "vit_l_14.npy", tmp_path / "mine.npy"]
    rows = {row.name: row for row in rows_of_files(files, tmp_path / "factors.csv")}
    assert list(rows) == [*PUBLISHED_ENCODERS, "mine"]
    assert rows["ViT-L/14"].found == pytest.approx(gd.scores.mig(factors, factors).value)
    assert rows["ViT-L/14"].found > 0.98 and rows["ViT-L/14"].published == 0.0255
    assert rows["ViT-L/14"].chance < 0.01 and rows["mine"].found < 0.02
    assert np.isnan(rows["RN50"].found) and np.isnan(rows["mine"].published)
    text = "\n".join(encoder_lines(list(rows.values())))
    assert "| ViT-L/14 | 428 M | 0.02550 |" in text and "mine more than" in text


def test_the_published_rows_alone_decide_nothing():
    sizes, migs = zip(*PUBLISHED_ENCODERS.values(), strict=True)
    rho, chance = exact_rank_test(sizes, migs)
    assert rho == pytest.approx(0.8) and chance == pytest.approx(8 / 120)


def test_transformers_are_not_ranked_above_convolutions_beyond_chance():
    migs = {name: mig for name, (_, mig) in PUBLISHED_ENCODERS.items()}
    vits = [mig for name, mig in migs.items() if name.startswith("ViT")]
    others = [mig for name, mig in migs.items() if not name.startswith("ViT")]
    assert exact_rank_sum(vits, others) == pytest.approx(4 / 10)
    assert "40% of all ways" in "\n".join(encoder_lines([]))


def test_shapes_are_asked_for(factors):
    with pytest.raises(InputError, match=r"shape \(n, z\); got shape \(2000,\)"):
        encoder_rows({"a": factors[:, 0]}, factors)


def test_untrained_codes_are_what_they_say():
    images = np.random.default_rng(0).random((60, 4, 4, 1))
    codes = controls(images)
    components = codes["principal components of pixels"]
    covariance = np.cov(components, rowvar=False)
    assert np.allclose(covariance, np.diag(np.diag(covariance)), atol=1e-12)
    assert (np.diff(np.diag(covariance)) <= 1e-12).all()
    assert codes["untrained perceptron"].min() == 0 and codes["noise"].shape == (60, 512)
    again = controls(images)
    assert all((codes[name] == again[name]).all() for name in codes)
