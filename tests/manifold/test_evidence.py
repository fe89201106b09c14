import numpy as np
import pytest

from geodis.manifold.evidence import collect_evidence, doubts_of, doubts_of_number
from geodis.manifold.holonomy.eigenfields import Eigenfields
from geodis.manifold.local.dimension import points_needed
from geodis.manifold.split_result import Split


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
            {"variation": [0.04, 0.08, 0.3, 0.3]},
            ("the norm of field 1 varies by 0.04", "the norm of field 2 varies by 0.08"),
        ),
        (
            {"values": [0.0, 0.02, 0.3, 0.3]},
            ("the eigenvalue of field 2 is as small as a parallel field's",),
        ),
        ({"converged": False}, ("the eigenfields have not converged",)),
    ],
)
def test_what_leaves_the_number_of_parallel_fields_uncertain(changed, doubts):
    assert doubts_of(fields(**{**CLEAR, **changed})) == doubts


@pytest.mark.parametrize("dim", [3, 6, 9])
def test_fewer_points_than_are_enough_leave_doubt(dim):
    enough = points_needed(dim)[1]
    assert doubts_of_number(enough, dim) == ()
    (doubt,) = doubts_of_number(enough // 4, dim)
    assert doubt.startswith("20 points for each unknown of the tangent fit")


def split(dims, n=10, parts=()):
    return Split(
        axes=np.zeros((n, sum(dims), 7)),
        dims=dims,
        flat=(False,) * len(dims),
        fields=fields(**CLEAR),
        rows=np.arange(n),
        parts=parts,
        history=[{"factor_dims": dims}],
    )


def test_only_a_factor_that_could_be_several_and_was_not_split_is_doubted():
    assert collect_evidence(split((2, 2)))[0].doubts == ()  # surfaces are one factor at most
    assert "may leave factors merged" in collect_evidence(split((3, 2)))[0].doubts[0]
    whole, part = collect_evidence(split((3,), parts=(split((3,)),)))
    assert whole.doubts == () and len(part.doubts) == 1


def test_evidence_prints_as_one_line():
    (found,) = collect_evidence(split((2, 2)))
    assert str(found) == (
        "dimension 4 -> 2 + 2: 1 parallel field, eigenvalues 0 0.2, norms vary by 0.000 0.300"
    )
    assert found.gap_rule == 2
