"""Valid files are read as the libraries read them that wrote them, or refused in one sentence."""

import numpy as np
import pytest

from geodis import load_array, load_factors
from geodis.base.check import InputError
from tests.data.files.conformance_cases import ARRAY, REFUSED, WRITERS, Case, cases_of


def _read(case: Case) -> np.ndarray:
    if case.kind == ARRAY:
        return load_array(case.given)
    factors = load_factors(case.given)
    values = factors.values[:, 0].astype(float)
    labels = factors.categories.get(factors.names[0])
    if labels is None:
        return values
    return np.array(["None" if np.isnan(code) else labels[int(code)] for code in values])


def _problem(case: Case) -> str | None:
    """What is wrong with how a file is read, if anything is."""
    if case.kind == REFUSED:
        try:
            return f"{load_array(case.given).dtype} was read"
        except InputError as refusal:
            return "the refusal has several lines" if "\n" in str(refusal) else None
    try:
        found = _read(case)
    except InputError as refusal:
        return str(refusal)
    if case.expected.dtype.kind in "US":
        same = found.shape == case.expected.shape and (found == case.expected).all()
    else:
        same = np.array_equal(found, case.expected, equal_nan=True)
    return None if same else f"{found!r} instead of {case.expected!r}"


@pytest.mark.parametrize("name", WRITERS)
def test_valid_files_are_read_as_their_own_libraries_read_them(tmp_path, name):
    cases = cases_of(name, tmp_path)
    wrong = {case.given.rpartition("/")[2]: found for case in cases if (found := _problem(case))}
    assert len(cases) > 5 and not wrong, "\n".join(f"{k}: {v}" for k, v in wrong.items())
