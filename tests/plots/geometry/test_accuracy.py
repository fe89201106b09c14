import numpy as np

from geodis.plots import plot_error_against_n


def test_errors_are_joined_by_their_medians_and_wrong_factors_crossed():
    rows = [
        {"manifold": "a", "n": n, "error": error, "right": right}
        for n, error, right in [
            (100, 1.5, False),
            (200, 0.1, True),
            (200, 0.3, True),
            (200, 0.2, False),
        ]
    ]
    axis = plot_error_against_n([*rows, {"manifold": "b", "n": 200, "error": 0.5, "right": True}])
    a, b, crosses, _ = axis.lines
    np.testing.assert_allclose(a.get_xydata(), [[100, 1.5], [200, 0.2]])
    np.testing.assert_allclose(b.get_xydata(), [[200, 0.5]])
    np.testing.assert_allclose(crosses.get_xydata(), [[100, 1.5]])
    assert [text.get_text() for text in axis.get_legend().get_texts()] == [
        "a",
        "b",
        "wrong factors",
    ]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["100", "200"]
