"""Pairs that differ in precision alone: whole ones are compared, and a shift would be seen."""

import numpy as np
import pandas as pd
import pytest
import torch

from analyses import precision_pairs as analysis

TINY = "tiny-for-tests"


def rows(shift, seeds=20):
    """Rows of a sweep whose bfloat16 runs score higher by `shift`."""
    random, lines = np.random.default_rng(0), []
    for seed in range(seeds):
        for precision in analysis.PRECISIONS:
            value = 0.1 + 0.01 * random.standard_normal() + shift * (precision == "bfloat16")
            whose = {"run": f"{seed}{precision}", "model": "M", "seed": seed, "step": 5}
            lines.append(
                {**whose, "precision": precision, **dict.fromkeys(analysis.COMPARED, value)}
            )
    return pd.DataFrame(lines)


def test_pairs_are_runs_that_both_precisions_have():
    made = rows(0.0)
    assert len(analysis.pairs_of(made)) == 20
    assert len(analysis.pairs_of(made.drop(index=[0, 5]))) == 18


@pytest.mark.parametrize(("shift", "said"), [(0.0, "| yes |"), (0.03, "| not shown |")])
def test_a_shift_of_a_score_is_seen(shift, said):
    lines = analysis._lines(rows(shift), analysis.PRESETS["quick"], "quick", "Dear.")
    (line,) = [line for line in lines if "| all | score mig |" in line]
    assert line.endswith(said) and "| 20 |" in line


def test_all_sixty_pairs_of_the_quick_preset_are_compared():
    lines = analysis._lines(rows(0.0, seeds=60), analysis.PRESETS["quick"], "quick", "")
    (line,) = [line for line in lines if "| all | score mig |" in line]
    assert "| 60 |" in line and line.endswith("| yes |")


def test_every_model_is_planned_in_both_precisions():
    (tiny, quick) = (analysis.study_part(analysis.PRESETS[name]) for name in (TINY, "quick"))
    assert len(quick.models) * quick.seeds == 60 and tiny.models == quick.models
    assert all(entry["precision"] == list(analysis.PRECISIONS) for entry in quick.models)


@pytest.mark.long
def test_it_runs_through_and_goes_on_from_what_was_kept(tmp_path):
    torch.set_num_threads(1)
    line = ["--preset", TINY, "--out", str(tmp_path / "out"), "--runs"]
    assert analysis.main([*line, str(tmp_path / "runs")]) == 0
    first = (tmp_path / "out" / "results.md").read_text()
    assert "| all | score mig | 6 |" in first
    assert analysis.main([*line, str(tmp_path / "other runs"), "--parts", "0"]) == 0
    assert (tmp_path / "out" / "results.md").read_text() == first
