"""The table of names: boundary, handedness, Betti numbers and curvature -> which space it is."""

from __future__ import annotations

from dataclasses import dataclass
from math import gamma, pi

from geodis.manifold.doubts import Doubt, doubt
from geodis.manifold.topology.betti import Betti
from geodis.manifold.topology.scalar_curvature import ScalarCurvature

UNKNOWN = "unknown"

# Name -> what stands in the names of features.
SHORT_NAMES = {
    "interval": "interval",
    "circle": "circle",
    "sheet": "sheet",
    "cap": "cap",
    "saddle": "saddle",
    "cylinder": "cylinder",
    "Moebius band": "moebius",
    "sphere": "sphere",
    "torus": "torus",
    "Klein bottle": "klein",
    "projective plane": "rp2",
    "block": "block",
    "SO(3)": "so3",
    "S^3": "s3",
    "S^2 x S^1": "s2xs1",
    "3-torus": "t3",
    "S^4": "s4",
    "CP^2": "cp2",
    "S^2 x S^2": "s2xs2",
    "4-torus": "t4",
    UNKNOWN: UNKNOWN,
}

# The integral of the curvature must be this near to the Euler number of the name, and this near to
# a whole number where it is all there is.
EULER_AGREES, EULER_ALONE = 0.75, 0.3
# Below, no direction and no plane of a factor is another, up to noise: the curvature is constant.
SAME_DIRECTIONS, SAME_PLANES = 0.03, 0.05
# Weyl tensors of the symmetric spaces of dimension four: what is nearer to another name speaks
# against this one.
WEYL = {"S^4": (0.0, 0.07), "CP^2": (0.09, 0.25), "S^2 x S^2": (0.22, 0.45)}
# Volume over that of the sphere of the same curvature: the sphere itself, or its half, which is
# the projective space. Tightly bent maps have too much curvature, and so too large a share.
WHOLE_SPHERE, HALF_SPHERE = (0.8, 1.6), (0.33, 0.78)

CLOSED_SURFACES = {
    (True, 2): "sphere",
    (True, 0): "torus",
    (False, 1): "projective plane",
    (False, 0): "Klein bottle",
}


# What part of their sphere of the same curvature spaces are.
PARTS_OF_SPHERES = {"sphere": 1.0, "projective plane": 0.5, "S^3": 1.0, "SO(3)": 0.5, "S^4": 1.0}


def sphere_volume(dim: int) -> float:
    """Volume of the unit sphere of a dimension: 2 pi, 4 pi, 2 pi^2, 8 pi^2 / 3."""
    return 2 * pi ** ((dim + 1) / 2) / gamma((dim + 1) / 2)


@dataclass(frozen=True)
class Facts:
    """What is known of a factor of dimension two to four.

    Attributes
    ----------
    dim : int
    boundary, orientable : bool or None
    n_pieces : int
        Of the boundary.
    betti : Betti or None
        None without ripser.
    curvature : ScalarCurvature
    size : float
        Area or volume.
    """

    dim: int
    boundary: bool | None
    orientable: bool | None
    n_pieces: int
    betti: Betti | None
    curvature: ScalarCurvature
    size: float

    @property
    def constant(self) -> bool:
        """Whether all planes at all places have the same positive curvature."""
        kind = self.curvature
        return bool(
            kind.even
            and kind.sign == "positive"
            and (kind.one_sided is None or kind.one_sided < SAME_DIRECTIONS)
            and (kind.weyl is None or kind.weyl < SAME_PLANES)
        )

    @property
    def share_of_sphere(self) -> float | None:
        """Volume over that of the sphere of the same curvature, where that is constant."""
        if not self.constant or self.boundary is not False:
            return None
        return self.size * self.curvature.mean ** (self.dim / 2) / sphere_volume(self.dim)

    def radius(self, name: str) -> float | None:
        """Radius of the sphere of the same curvature, where that is constant.

        By the volume where the name says which part of the sphere it is, which is more accurate.
        """
        if not self.constant:
            return None
        part = PARTS_OF_SPHERES.get(name)
        if part is None or self.boundary is not False:
            return self.curvature.mean**-0.5
        return (self.size / part / sphere_volume(self.dim)) ** (1 / self.dim)


Named = tuple[str, tuple[Doubt, ...]]


def name_space(facts: Facts) -> Named:
    """The name that all facts allow, or "unknown", and why it is not known or not sure."""
    if facts.boundary is None:
        return _untold("whether it has a boundary cannot be told")
    if facts.betti is not None and not facts.betti.told and facts.dim != 2:
        return _untold(f"{facts.betti}: a bar is neither short nor long")
    table = {2: _surface, 3: _three, 4: _four}[facts.dim]
    if facts.boundary:
        table = _bounded_surface if facts.dim == 2 else _bounded_solid
    return table(facts)


def _surface(facts: Facts) -> Named:
    euler = facts.curvature.euler
    assert euler is not None  # closed surfaces have one
    if facts.orientable is None:
        return _untold("whether it is orientable cannot be told")
    doubts: tuple[Doubt, ...] = ()
    if facts.betti is not None and facts.betti.told:
        two, three = facts.betti.over_two[0], facts.betti.over_three[0]
        assert two is not None and three is not None
        if two - three != (0 if facts.orientable else 1):
            return _contradiction(
                f"b1 = {two} and {three} over two fields",
                f"the frames are {'orientable' if facts.orientable else 'not orientable'}",
            )
        number = 2 - two
        if abs(euler - number) > EULER_AGREES:
            return _contradiction(
                f"the Betti numbers give the Euler number {number}",
                f"the curvature gives {euler:.2f}",
            )
    else:
        number = round(euler)
        if abs(euler - number) > EULER_ALONE:
            return _contradiction(
                f"the curvature gives the Euler number {euler:.2f}", "that is near no whole number"
            )
        doubts = _without_betti("the name rests on the integral of the curvature alone")
    name = CLOSED_SURFACES.get((facts.orientable, number))
    if name is None:
        kind = "orientable" if facts.orientable else "non-orientable"
        return _no_name(f"a closed {kind} surface of Euler number {number}")
    return name, doubts


def _bounded_surface(facts: Facts) -> Named:
    if facts.orientable is None:
        return _untold("whether it is orientable cannot be told")
    doubts: tuple[Doubt, ...] = ()
    if facts.betti is None:
        # Without handles, one piece of boundary for every loop, and one more.
        loops = facts.n_pieces - 1 if facts.orientable else facts.n_pieces
        doubts = _without_betti("the name takes it to have no handles")
    elif not facts.betti.told:
        return _untold(f"{facts.betti}: a bar is neither short nor long")
    elif facts.betti.over_two != facts.betti.over_three:
        return _contradiction("there is a boundary", "the Betti numbers over two fields differ")
    else:
        loops = facts.betti.over_two[0] or 0
        # b1 is twice the handles, or the crosscaps, and the pieces of the boundary but one. Where a
        # turn of a sheet touches another there is a loop too many.
        crossed = loops + 1 - facts.n_pieces
        if loops and (crossed < 0 or (crossed % 2 if facts.orientable else crossed == 0)):
            return _contradiction(f"b1 = {loops}", f"the boundary has {facts.n_pieces} pieces")
    if loops == 0 and facts.orientable:
        return {"positive": "cap", "negative": "saddle"}.get(facts.curvature.sign, "sheet"), doubts
    if loops == 1:
        return ("cylinder" if facts.orientable else "Moebius band"), doubts
    kind = "an orientable" if facts.orientable else "a non-orientable"
    return _no_name(f"{kind} surface with boundary and b1 = {loops}")


def _three(facts: Facts) -> Named:
    kind, share = facts.curvature, facts.share_of_sphere
    if facts.orientable is not True:
        return _no_name("a closed space of dimension 3 that is not orientable")
    if facts.betti is None:
        return _by_volume(share, {1: "S^3", 2: "SO(3)"})
    loops = facts.betti.over_two[0], facts.betti.over_three[0]
    if loops == (3, 3):
        return "3-torus", ()
    if loops == (1, 1) and kind.sign == "positive" and not facts.constant:
        return "S^2 x S^1", ()
    name = {(0, 0): "S^3", (1, 0): "SO(3)"}.get((loops[0] or 0, loops[1] or 0))
    if name is None or kind.sign != "positive":
        return _no_name(f"b1 = {loops[0]} and {loops[1]} with {kind.sign} curvature")
    return _checked_by_volume(name, share, WHOLE_SPHERE if name == "S^3" else HALF_SPHERE)


def _four(facts: Facts) -> Named:
    kind = facts.curvature
    if facts.orientable is not True:
        return _no_name("a closed space of dimension 4 that is not orientable")
    if facts.betti is None:
        return _by_volume(facts.share_of_sphere, {1: "S^4"})
    if facts.betti.over_two != facts.betti.over_three:
        return _no_name("a space of dimension 4 whose Betti numbers over two fields differ")
    one, two = (number or 0 for number in facts.betti.over_two)
    if one == 4:
        return "4-torus", ()
    name = {(0, 0): "S^4", (0, 1): "CP^2", (0, 2): "S^2 x S^2"}.get((one, two))
    if name is None or kind.sign != "positive":
        return _no_name(f"b1 = {one}, b2 = {two} with {kind.sign} curvature")
    assert kind.weyl is not None
    low, high = WEYL[name]
    if kind.even and not low <= kind.weyl <= high:
        return _contradiction(
            f"the Betti numbers say {name}",
            f"the Weyl tensor, {kind.weyl:.2f} of the scalar curvature, does not",
        )
    return _checked_by_volume(name, facts.share_of_sphere if name == "S^4" else None, WHOLE_SPHERE)


def _bounded_solid(facts: Facts) -> Named:
    holes = None if facts.betti is None else {*facts.betti.over_two, *facts.betti.over_three}
    if facts.curvature.sign == "flat" and holes in (None, {0}):
        return "block", () if holes else _without_betti("the name takes it to have no holes")
    return _no_name(f"a space of dimension {facts.dim} with boundary that is no flat block")


def _by_volume(share: float | None, names: dict[int, str]) -> Named:
    """Of spaces of constant curvature the volume tells which; all that is left without ripser."""
    for order, (low, high) in ((1, WHOLE_SPHERE), (2, HALF_SPHERE)):
        if share is not None and low < share < high and order in names:
            return names[order], _without_betti(
                f"the name rests on its volume, {share:.2f} of the sphere of the same curvature"
            )
    return UNKNOWN, _without_betti("its name cannot be told")


def _checked_by_volume(name: str, share: float | None, allowed: tuple[float, float]) -> Named:
    if share is not None and not allowed[0] < share < allowed[1]:
        return _contradiction(
            f"the Betti numbers say {name}",
            f"the volume, {share:.2f} of the sphere of the same curvature, does not",
        )
    return name, ()


def _untold(why: str) -> Named:
    return UNKNOWN, (doubt("few-for-name", "name", why=why),)


def _no_name(what: str) -> Named:
    return UNKNOWN, (doubt("no-name", "name", what=what),)


def _contradiction(one: str, other: str) -> Named:
    return UNKNOWN, (doubt("contradiction", "name", one=one, other=other),)


def _without_betti(rests: str) -> tuple[Doubt, ...]:
    return (doubt("no-betti-numbers", "name", rests=rests),)
