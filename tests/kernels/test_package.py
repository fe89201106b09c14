"""Every public name resolves and says what it is."""

import inspect

import pytest

from geodis import kernels


@pytest.mark.parametrize("name", kernels.__all__)
def test_every_public_name_resolves_and_has_a_docstring(name):
    value = getattr(kernels, name)
    assert callable(value) and inspect.getdoc(value)


def test_public_names_of_the_room():
    assert {"soft_rank", "LossKernel", "learn_kernel", "KernelOptions", "save_kernel"} <= set(
        kernels.__all__
    )
