from dataclasses import replace

import numpy as np
import pytest

from geodis.manifold.holonomy.eigenfields import Eigenfields
from geodis.manifold.local.angles import TangentError
from geodis.manifold.split_result import Split, collect_evidence, doubts_of, doubts_of_tangents


def fields(values, variation, n_parallel=1, converged=True):
    """Eigenfields of two points with a given spectrum."""
    count = len(values)
    return Eigenfields(
        values=np.array(values),
        fields=np.zeros((2, 3, count), np.float32),
        variation=np.array(variation),
        residuals=np.zeros(count),
        n_parallel=n_parallel,
        n_applications=1,
        converged=converged,
        top=2.0,
    )


CLEAR = {"values": [0.0, 0.2, 0.3, 0.3], "variation": [0.0, 0.3, 0.3, 0.3]}


@pytest.mark.parametrize(
    ("changed", "doubts"),
    [
        ({}, ()),
        (
            {"variation": [0.04, 0.08, 0.3, 0.3], "values": [0.0, 0.05, 0.3, 0.3]},
            ("uneven-field", "uneven-field"),
        ),
        ({"values": [0.0, 0.02, 0.3, 0.3]}, ("small-eigenvalue",)),
        ({"converged": False}, ("not-converged",)),
    ],
)
def test_what_leaves_the_number_of_parallel_fields_uncertain(changed, doubts):
    said = doubts_of(fields(**{**CLEAR, **changed}))
    assert tuple(one.code for one in said) == doubts


def split(dims, n=10, parts=()):
    return Split(
        axes=np.zeros((n, sum(dims), 7)),
        dims=dims,
        flat=(False,) * len(dims),
        fields=fields(**CLEAR),
        rows=np.arange(n),
        parts=parts,
        tangent_error=TangentError(0.01, 0.0),
        history=[{"factor_dims": dims}],
    )


@pytest.mark.parametrize(
    ("dims", "angle", "parts", "doubted"),
    [
        ((3, 2), 0.2, (), True),
        ((3,), 0.16, (), True),
        ((3, 2), 0.05, (), False),
        ((2,), 0.2, (), False),  # what a surface could split into is flat
        ((3, 2), 0.2, (3,), False),  # its parts have tangents of their own
    ],
)
def test_large_errors_of_the_tangents_are_doubted_where_they_could_merge_factors(
    dims, angle, parts, doubted
):
    inner = tuple(replace(split((dim,)), tangent_error=TangentError(0.01, 0.0)) for dim in parts)
    whole = replace(split(dims, parts=inner), tangent_error=TangentError(angle, 0.0))
    codes = [one.code for one in collect_evidence(whole)[0].doubts]
    assert bool(doubts_of_tangents(whole)) == (doubted or bool(parts))
    assert ("noisy-tangents" in codes) == doubted


def test_a_given_number_of_factors_is_compared_with_what_the_fields_tell():
    (told,) = collect_evidence(replace(split((2, 1)), told_apart=1))
    (doubt,) = told.doubts
    assert doubt.code == "given-factors" and doubt.evidence == {"given": 2, "found": 1}
    assert collect_evidence(replace(split((2, 1)), told_apart=2))[0].doubts == ()


def test_a_lowest_eigenvalue_that_stands_alone_is_doubted():
    alone = fields([0.1, 0.2, 0.21, 0.22], [0.3] * 4, n_parallel=0)
    assert [one.code for one in doubts_of(alone, 4)] == ["lone-eigenvalue"]
    assert doubts_of(alone, 2) == ()
    assert doubts_of(fields([0.19, 0.2, 0.21, 0.22], [0.3] * 4, n_parallel=0), 4) == ()


def test_a_counted_field_of_uneven_norm_is_doubted_however_uneven():
    (doubt,) = doubts_of(fields(**{**CLEAR, "variation": [0.4, 0.3, 0.3, 0.3]}))
    assert doubt.startswith("the norm of field 1 varies by 0.40")


def test_evidence_prints_as_one_line():
    (found,) = collect_evidence(split((2, 2)))
    assert str(found) == (
        "dimension 4 -> 2 + 2: 1 parallel field, eigenvalues 0 0.2, norms vary by 0.000 0.300"
        "; tangents err by 0.010 rad (noise 0.010, bias 0.000)"
    )
    assert found.gap_rule == 2
