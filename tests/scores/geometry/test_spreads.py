"""Spreads of traversals equal the reference."""

from typing import Any

import numpy as np
import pytest

from geodis.distances.correlations import geometric_mean
from geodis.scores.geometry.traversals import (
    axis_variances,
    largest_share,
    linear_variances,
    widths_and_lengths,
)
from tests import GOLDEN

EXPECTED = GOLDEN / "disent"
RATIOS = np.load(EXPECTED / "factored_ratios_s.npz")
VARIANCES = {"axis": axis_variances, "linear": linear_variances}
SPREADS: dict[str, Any] = {"var": np.asarray, "std": np.sqrt}


@pytest.mark.parametrize("case", range(int(RATIOS["n_cases"])))
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("basis", VARIANCES)
def test_ratios_of_traversals_equal_the_reference(case, basis, spread):
    key = f"c{case:02d}_"
    latents = RATIOS[f"{key}latents"].astype(float)
    values = SPREADS[spread](VARIANCES[basis](latents))
    # Where directions outnumber points the peer's last eigenvalue is rounding, and its root 1e-8.
    flat = basis == "linear" and spread == "std" and latents.shape[1] <= latents.shape[2]
    tolerance = 1e-7 if flat else 1e-9
    expected = RATIOS[f"{key}{basis}_values_{spread}"]
    np.testing.assert_allclose(np.sort(values, 1), np.sort(expected, 1), atol=tolerance)
    for top in (None, 2):
        for normalise in (True, False):
            shares = largest_share(values, top, normalise)
            name = f"{basis}{'_top2' if top else ''}_{spread}_{'norm' if normalise else 'raw'}"
            expected = RATIOS[key + name]
            if np.isnan(expected).all():  # latents that stand still: the peer divides 0 by 0
                n = top or latents.shape[2]
                expected = np.full(len(shares), 0 if normalise else 1 / n)
            np.testing.assert_allclose(shares, expected, atol=tolerance)


@pytest.mark.parametrize("case", range(int(RATIOS["n_cases"])))
def test_pooled_ratios_orientation_and_widths_equal_the_reference(case):
    key = f"c{case:02d}_"
    latents = RATIOS[f"{key}latents"].astype(float)
    axis, linear = axis_variances(latents), linear_variances(latents)
    for spread, root in SPREADS.items():
        pooled = largest_share(root(axis).mean(0, keepdims=True))[0]
        expected = np.nan_to_num(RATIOS[f"{key}axis_ave_{spread}"])
        assert pooled == pytest.approx(expected, abs=1e-9)
    on_axis, on_line = largest_share(axis), largest_share(linear)
    expected = np.nan_to_num(RATIOS[f"{key}axis_alignment_var"])
    np.testing.assert_allclose(on_axis / (on_line + 1e-20), expected, atol=1e-9)
    for order in (1, 2):
        width, length = widths_and_lengths(latents, order, order)
        np.testing.assert_allclose(width, RATIOS[f"{key}width_l{order}"], rtol=1e-6)
        assert width.mean() == pytest.approx(RATIOS[f"{key}ave_width_l{order}"], rel=1e-6)
        delta = (length / (latents.shape[1] - 1)).mean()
        assert delta == pytest.approx(RATIOS[f"{key}ave_delta_l{order}"], rel=1e-6)


@pytest.mark.parametrize("file", range(1, 7))
def test_the_whole_metric_equals_the_reference_on_its_draws(file):
    data = np.load(EXPECTED / f"factored_full_s{file}.npz")
    sizes = data["factor_sizes"]
    noted: dict[str, list[float]] = {}

    def note(name, value):
        noted.setdefault(name, []).append(float(value))

    for j in range(len(sizes)):
        latents = [
            data["codebook"][
                np.ravel_multi_index(tuple(np.moveaxis(data[f"{name}_f{j}"], -1, 0)), sizes)
            ].astype(float)
            for name in ("trav", "flat_trav")
        ]
        axis, linear = axis_variances(latents[0]), linear_variances(latents[0])
        on_axis, on_line = largest_share(axis), largest_share(linear)
        note("linearity.axis_ratio.var", on_axis.mean())
        note("linearity.linear_ratio.var", on_line.mean())
        note("linearity.axis_alignment.var", (on_axis / (on_line + 1e-20)).mean())
        pooled = largest_share(axis.mean(0, keepdims=True))
        note("linearity.axis_ratio_ave.var", pooled[0])
        for norm, orders in (("", (2, 1)), ("_l1", (1, 1)), ("_l2", (2, 2))):
            width, length = widths_and_lengths(latents[1], *orders)
            note(f"flatness.ave_flatness{norm}", width.mean() / length.mean())
    for name, values in noted.items():
        mean = np.mean(values) if "flatness" in name else geometric_mean(values)
        assert mean == pytest.approx(float(data[f"score/{name}"]), abs=2e-6)
