"""Rises with compute are those of the same seed, and power that of drawn studies."""

import numpy as np
import pandas as pd
import pytest
import torch

from analyses.compute_scaling import __main__ as analysis
from analyses.compute_scaling.scaling_runs import (
    PRESETS,
    change,
    operations_a_step,
    rise_power,
)
from analyses.shared.studies.verdicts import mean_interval


def test_a_change_is_that_of_every_seed():
    table = pd.DataFrame(
        {"seed": [0, 0, 1, 1, 2], "step": [1, 9, 1, 9, 1], "score mig": [0.1, 0.4, 0.3, 0.2, 0.5]}
    )
    assert change(table, "mig", 1, 9) == pytest.approx([0.3, -0.1])


def test_intervals_of_means_cover_and_power_is_the_level_without_a_rise():
    random = np.random.default_rng(0)
    found = [mean_interval(random.normal(0.3, 1, 8)) for _ in range(500)]
    assert 0.93 <= np.mean([one.low <= 0.3 <= one.high for one in found]) <= 0.97
    assert mean_interval([0.5]).low == -np.inf
    assert rise_power(0, 1, 8) == pytest.approx(0.025, abs=0.01)
    powers = [rise_power(0.5, 1, n) for n in (4, 16, 64)]
    assert powers == sorted(powers) and powers[-1] > 0.95 and rise_power(1, 1, 1) == 0


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
    assert analysis.main([*line, "--factors", "f.csv"]) == 2
    assert "needs --embeddings and --factors" in capsys.readouterr().err
