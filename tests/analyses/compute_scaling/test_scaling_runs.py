"""Differences of scores are those of the same seed, and verdicts follow from them."""

import numpy as np
import pandas as pd
import pytest
import torch

from analyses.compute_scaling import __main__ as analysis
from analyses.compute_scaling.scaling_claims import margin_of, scaling_claims
from analyses.compute_scaling.scaling_runs import PRESETS, at_step, operations_a_step, pairs_of
from analyses.shared.studies.verdicts import mean_interval


def runs_of(last):
    """Runs of two betas, whose scores at the end are those given, by beta."""
    return pd.DataFrame(
        [
            {"beta": beta, "seed": seed, "step": step, "score mig": score, "score sap": score / 10}
            for beta, ends in last.items()
            for seed, end in enumerate(ends)
            for step, score in ((1, 0.1 + 0.001 * seed), (5, (0.1 + end) / 2), (9, end))
        ]
    )


def test_differences_are_those_of_seeds_that_both_have():
    table = runs_of({1.0: [0.2, 0.3, 0.4], 4.0: [0.3, 0.5]})
    first, second = (at_step(table, beta, "mig", 9) for beta in (4.0, 1.0))
    assert pairs_of(first, second) == ([0.3, 0.5], [0.2, 0.3])


def test_a_score_rises_or_does_not_rise_by_what_would_matter():
    random = np.random.default_rng(0)
    flat = 0.1 + 0.005 * random.standard_normal(10)
    steep = 0.4 + 0.005 * random.standard_normal(10)
    verdicts = verdicts_of({1.0: flat, 4.0: steep})
    assert verdicts["beta = 4: 9 - 1 steps", "mig"] == "reproduced"
    assert verdicts["beta = 4: 9 - 5 steps", "mig"] == "reproduced"
    assert verdicts["VAE: 9 - 1 steps", "mig"] in ("below", "less than would matter")
    assert verdicts["beta = 4 - VAE at 9 steps", "mig"] == "reproduced"
    assert verdicts["beta = 4 - VAE at 9 steps", "sap"] == "above"
    assert verdicts_of({1.0: steep, 4.0: flat})["beta = 4: 9 - 1 steps", "mig"] == "not reproduced"
    alike = verdicts_of({1.0: flat, 4.0: flat[::-1]})
    assert alike["beta = 4 - VAE at 9 steps", "mig"] == "not reproduced"
    few = verdicts_of({1.0: [0.1, 0.2, 0.3], 4.0: [0.4, 0.2, 0.1]})
    assert few["beta = 4 - VAE at 9 steps", "mig"] == "cannot tell (power 0.00)"  # three pairs


def verdicts_of(last):
    """Verdicts by words and score."""
    return {(claim.words, claim.score): claim.verdict for claim in scaling_claims(runs_of(last))}


def test_what_would_matter_goes_with_the_score():
    table = runs_of({1.0: [0.3, 0.3], 4.0: [0.6, 0.6]})
    assert margin_of(table, "mig") == 0.05
    assert margin_of(table, "sap") == pytest.approx(0.045 / 3)


def test_intervals_of_means_cover():
    random = np.random.default_rng(0)
    found = [mean_interval(random.normal(0.3, 1, 8)) for _ in range(500)]
    assert 0.93 <= np.mean([one.low <= 0.3 <= one.high for one in found]) <= 0.97
    assert mean_interval([0.5]).low == -np.inf


def test_operations_count_every_weight_six_times_a_row():
    weights = 256 * 128 + 128 * 128 + 128 * 20 + 10 * 128 + 128 * 128 + 128 * 256
    assert operations_a_step(PRESETS["quick"]) == 6 * weights * 64


@pytest.mark.long
def test_it_runs_through_and_goes_on(tmp_path, capsys):
    torch.set_num_threads(1)
    line = ["--preset", "tiny-for-tests", "--out", str(tmp_path / "out")]
    assert analysis.main([*line, "--runs", str(tmp_path / "runs")]) == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"results.json", "results.md", "compute.png"}
    text = (tmp_path / "out" / "results.md").read_text()
    assert "3 seeds of each beta" in text and "untrained perceptron" in text
    # The tables are made again of what is kept, without training.
    (tmp_path / "out" / "results.md").unlink()
    assert analysis.main([*line, "--report"]) == 0
    again = (tmp_path / "out" / "results.md").read_text()
    assert again.split("## Does")[1] == text.split("## Does")[1]
    assert "The runs took " in text and again == text
    assert analysis.main(["--report", "--preset", "quick", "--out", str(tmp_path / "out")]) == 2


def test_a_table_of_encoders_says_of_no_files_that_they_were_made(tmp_path, capsys):
    np.save(tmp_path / "RN50.npy", np.random.default_rng(0).standard_normal((200, 3)))
    np.save(tmp_path / "factors.npy", np.arange(200)[:, None] % 4)
    factors = ["--factors", str(tmp_path / "factors.npy")]
    assert analysis.main([*factors, "--embeddings", str(tmp_path / "RN50.npy")]) == 0
    said = capsys.readouterr().out
    assert "| RN50 | 102 M | 0.00441 |" in said and "Made in" not in said
    assert analysis.main(factors) == 2
    assert "needs --embeddings and --factors" in capsys.readouterr().err
