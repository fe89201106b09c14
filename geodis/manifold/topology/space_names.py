"""Names of spaces from boundary, orientability, Betti numbers and curvature."""

from __future__ import annotations

from dataclasses import dataclass
from math import gamma, pi

from geodis.manifold.doubts import Doubt, doubt
from geodis.manifold.topology.betti import Betti
from geodis.manifold.topology.scalar_curvature import ScalarCurvature

UNKNOWN = "unknown"

# Short names, which are parts of the names of features.
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

# Largest difference of the integrated curvature from the Euler number of the name, and from an
# integer if there are no Betti numbers.
EULER_AGREES, EULER_ALONE = 0.75, 0.3
# Below these values of the Ricci and Weyl ratios, the curvature is constant up to noise.
SAME_DIRECTIONS, SAME_PLANES = 0.03, 0.05
# Range of the Weyl ratio of the symmetric spaces of dimension four.
WEYL = {"S^4": (0.0, 0.07), "CP^2": (0.09, 0.25), "S^2 x S^2": (0.22, 0.45)}
# Range of the volume relative to the sphere of the same curvature, for spheres and for projective
# spaces. Tightly bent maps have too much curvature, and so too large a ratio.
WHOLE_SPHERE, HALF_SPHERE = (0.8, 1.6), (0.33, 0.78)

CLOSED_SURFACES = {
    (True, 2): "sphere",
    (True, 0): "torus",
    (False, 1): "projective plane",
    (False, 0): "Klein bottle",
}

# Volume of spaces relative to the sphere of the same curvature.
PARTS_OF_SPHERES = {"sphere": 1.0, "projective plane": 0.5, "S^3": 1.0, "SO(3)": 0.5, "S^4": 1.0}


def sphere_volume(dim: int) -> float:
    """Return the volume of the unit sphere (2 pi, 4 pi, 2 pi^2, 8 pi^2 / 3, ...)."""
    return 2 * pi ** ((dim + 1) / 2) / gamma((dim + 1) / 2)


@dataclass(frozen=True)
class Facts:
    """The evidence for a factor of dimension two to four.

    Attributes
    ----------
    dim : int
    boundary, orientable : bool or None
    n_pieces : int
        Components of the boundary.
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
        """Whether the sectional curvature is constant and positive."""
        kind = self.curvature
        return bool(
            kind.even
            and kind.sign == "positive"
            and (kind.one_sided is None or kind.one_sided < SAME_DIRECTIONS)
            and (kind.weyl is None or kind.weyl < SAME_PLANES)
        )

    @property
    def share_of_sphere(self) -> float | None:
        """Volume relative to the sphere of the same curvature, if that is constant."""
        if not self.constant or self.boundary is not False:
            return None
        return self.size * self.curvature.mean ** (self.dim / 2) / sphere_volume(self.dim)

    def radius(self, name: str) -> float | None:
        """Return the radius of the sphere of the same curvature, if that is constant.

        It is computed from the volume if the name determines the share of the sphere, which is more
        accurate.
        """
        if not self.constant:
            return None
        part = PARTS_OF_SPHERES.get(name)
        if part is None or self.boundary is not False:
            return self.curvature.mean**-0.5
        return (self.size / part / sphere_volume(self.dim)) ** (1 / self.dim)


Named = tuple[str, tuple[Doubt, ...]]


def name_space(facts: Facts) -> Named:
    """Return the name that agrees with all facts, or "unknown", and the doubts about it."""
    if facts.boundary is None:
        return _undetermined("whether it has a boundary is undetermined")
    if facts.betti is not None and not facts.betti.known and facts.dim != 2:
        return _undetermined(f"{facts.betti}: a bar is neither short nor long")
    table = {2: _surface, 3: _three, 4: _four}[facts.dim]
    if facts.boundary:
        table = _bounded_surface if facts.dim == 2 else _bounded_solid
    return table(facts)


def _surface(facts: Facts) -> Named:
    euler = facts.curvature.euler
    assert euler is not None  # closed surfaces have one
    if facts.orientable is None:
        return _undetermined("whether it is orientable is undetermined")
    doubts: tuple[Doubt, ...] = ()
    if facts.betti is not None and facts.betti.known:
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
                f"the curvature gives the Euler number {euler:.2f}", "this is near no integer"
            )
        doubts = _without_betti("the name rests on the integral of the curvature alone")
    name = CLOSED_SURFACES.get((facts.orientable, number))
    if name is None:
        kind = "orientable" if facts.orientable else "non-orientable"
        return _no_name(f"a closed {kind} surface of Euler number {number}")
    return name, doubts


def _bounded_surface(facts: Facts) -> Named:
    if facts.orientable is None:
        return _undetermined("whether it is orientable is undetermined")
    doubts: tuple[Doubt, ...] = ()
    if facts.betti is None:
        # Without handles, the boundary has one component more than there are loops.
        loops = facts.n_pieces - 1 if facts.orientable else facts.n_pieces
        doubts = _without_betti("the name assumes that it has no handles")
    elif not facts.betti.known:
        return _undetermined(f"{facts.betti}: a bar is neither short nor long")
    elif facts.betti.over_two != facts.betti.over_three:
        return _contradiction("there is a boundary", "the Betti numbers over two fields differ")
    else:
        loops = facts.betti.over_two[0] or 0
        # b1 is twice the number of handles, or the number of crosscaps, plus the number of boundary
        # components minus one. If one turn of a sheet touches another, there is a loop too many.
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
        return "block", () if holes else _without_betti("the name assumes that it has no holes")
    return _no_name(f"a space of dimension {facts.dim} with boundary that is no flat block")


def _by_volume(share: float | None, names: dict[int, str]) -> Named:
    """Identify a space of constant curvature by its volume, without Betti numbers."""
    for order, (low, high) in ((1, WHOLE_SPHERE), (2, HALF_SPHERE)):
        if share is not None and low < share < high and order in names:
            return names[order], _without_betti(
                f"the name rests on its volume, {share:.2f} of the sphere of the same curvature"
            )
    return UNKNOWN, _without_betti("it has no name")


def _checked_by_volume(name: str, share: float | None, allowed: tuple[float, float]) -> Named:
    if share is not None and not allowed[0] < share < allowed[1]:
        return _contradiction(
            f"the Betti numbers say {name}",
            f"the volume, {share:.2f} of the sphere of the same curvature, does not",
        )
    return name, ()


def _undetermined(why: str) -> Named:
    return UNKNOWN, (doubt("few-for-name", "name", why=why),)


def _no_name(what: str) -> Named:
    return UNKNOWN, (doubt("no-name", "name", what=what),)


def _contradiction(one: str, other: str) -> Named:
    return UNKNOWN, (doubt("contradiction", "name", one=one, other=other),)


def _without_betti(rests: str) -> tuple[Doubt, ...]:
    return (doubt("no-betti-numbers", "name", rests=rests),)
