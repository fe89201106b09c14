"""Spaces of other packages in the texts of products."""

import numpy as np
import pytest

from geodis.base.check import InputError
from geodis.data import Space, product_manifold, register_space, unregister_space
from geodis.data.manifolds import spec
from geodis.data.manifolds.spaces import Sphere
from geodis.data.manifolds.spec import FORMS, read_spec


def add_helix() -> None:
    """What another package would write."""

    @register_space("helix(a)", needs="a climb a > 0", valid=lambda a: a > 0)
    class Helix(Space):
        def __init__(self, climb: float) -> None:
            super().__init__(f"helix({climb})", dim=1, ambient_dim=3)
            self.climb = climb

        def sample(self, n, rng):
            t = rng.uniform(0, 2 * np.pi, n)
            points = np.stack([np.cos(t), np.sin(t), self.climb * t], axis=1)
            moves = np.stack([-np.sin(t), np.cos(t), np.full(n, self.climb)], axis=1)
            return points, (moves / np.hypot(1, self.climb))[:, None]


@pytest.fixture
def forms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec, "FORMS", dict(FORMS))


@pytest.mark.usefixtures("forms")
@pytest.mark.parametrize("text", ["helix(2) x S^2", "Helix(2)xS2", "helix(2)×S²"])
def test_a_space_of_another_package_is_named_in_a_spec(text):
    add_helix()
    sample = product_manifold(text, 10, random_state=0)
    assert sample.names == ("helix(2)", "S^2") and sample.factor_dims == (1, 2)
    norms = np.linalg.norm(sample.tangents[0], axis=2)
    np.testing.assert_allclose(norms, 1)
    assert product_manifold("S^1xhelix(1)xhelix(2)", 5).n_factors == 3
    with pytest.raises(InputError, match=r"helix\(a\) needs a climb a > 0; got 'helix\(-1\)'"):
        product_manifold("helix(-1)", 5)


@pytest.mark.usefixtures("forms")
def test_a_space_goes_again_and_is_written_anew():
    add_helix()
    unregister_space("Helix")
    with pytest.raises(InputError, match="name must be that of a registered space; got 'helix'"):
        unregister_space("helix")
    add_helix()
    assert product_manifold("helix(1)", 5).dim == 1


@pytest.mark.usefixtures("forms")
def test_packages_are_asked_for_a_space_that_is_not_known(monkeypatch):
    asked = []

    def load_plugins(group):
        asked.append(group)
        add_helix()

    monkeypatch.setattr(spec, "load_plugins", load_plugins)
    read_spec("S^2 x SO(3)")
    assert not asked
    assert [space.dim for space in read_spec(["S^2", "helix(2)"])] == [2, 1]
    assert asked == ["geodis.spaces"]


@pytest.mark.parametrize(
    ("form", "message"),
    [("S^k", "must have a name of its own; got a second 'S'"), ("(a)", "must begin with the name")],
)
def test_a_space_needs_a_name_of_its_own(form, message):
    with pytest.raises(InputError, match=message):
        register_space(form, needs="a", valid=lambda a: True)(Sphere)
