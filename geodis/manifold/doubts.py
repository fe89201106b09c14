"""The reasons to doubt an answer: every kind that there is, registered in one place.

A check calls `doubt` with the code of a kind and the numbers that it saw. Sentence, remedy and
weight stand here, and so does the text of the documentation's page on doubts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

Kind = Literal[
    "sampling",
    "noise",
    "metric",
    "not a manifold",
    "not global",
    "too few points",
    "told by the user",
]
About = str | tuple[str, int]


@dataclass(frozen=True)
class DoubtKind:
    """What all doubts of one code have in common.

    Attributes
    ----------
    code : str
        A short name, in words joined by hyphens.
    kind : {"sampling", "noise", "metric", "not a manifold", "not global", "too few points", \
"told by the user"}
    sentence, remedy : str
        Templates that the numbers of the evidence are put into.
    why : str
        When it arises, for the documentation.
    weight : float
        How much it counts against a fit when dimensions are compared, as with ``dim="scan"``. It
        is 0 for doubts about the dimension itself and for checks of a finished fit, which do not
        say which dimension is right.
    """

    code: str
    kind: Kind
    sentence: str
    remedy: str
    why: str
    weight: float = 1.0


@dataclass(frozen=True, eq=False, repr=False)
class Doubt(str):
    """A reason to doubt an answer. It is its sentence, and has what the sentence is made of.

    Parameters
    ----------
    code : str
        That of its `DoubtKind` in `DOUBTS`.
    kind : str
    about : str or (str, int)
        What it concerns, as "dimension", "rows" or ("factor", 1).
    evidence : dict
        The numbers that the sentence shows.
    remedy : str
        What to do about it.
    weight : float

    Examples
    --------
    >>> found = doubt("outliers", "rows", count=30, n=400)
    >>> print(found)
    30 of 400 points lie far from all others and were left out: look at the rows in outliers_
    >>> found.code, found.kind, found.evidence
    ('outliers', 'sampling', {'count': 30, 'n': 400})
    """

    code: str
    kind: Kind
    about: About
    evidence: Mapping[str, Any]
    remedy: str
    weight: float = 1.0

    def __new__(
        cls,
        code: str,
        kind: Kind,
        about: About,
        evidence: Mapping[str, Any],
        remedy: str,
        weight: float = 1.0,
    ) -> Doubt:
        """Make the sentence that the doubt is."""
        return super().__new__(cls, f"{DOUBTS[code].sentence.format(**evidence)}: {remedy}")

    def __getnewargs__(self) -> Any:
        return self.code, self.kind, self.about, self.evidence, self.remedy, self.weight

    @property
    def statement(self) -> str:
        """What was noticed, without the remedy."""
        return self.removesuffix(f": {self.remedy}")

    @property
    def advice(self) -> str:
        """What was noticed and what to do, as two sentences."""
        said, todo = self.statement, self.remedy
        return f"{said[0].upper()}{said[1:]}. {todo[0].upper()}{todo[1:]}."


def doubt(code: str, about: About, *, weight: float | None = None, **evidence: Any) -> Doubt:
    """A doubt of a registered kind, from the numbers that it rests on."""
    of = DOUBTS[code]
    plain = {k: v.item() if isinstance(v, np.generic) else v for k, v in evidence.items()}
    weight = of.weight if weight is None else weight
    return Doubt(code, of.kind, about, plain, of.remedy.format(**plain), weight)


def each_once(doubts: Any) -> tuple[Doubt, ...]:
    """The doubts in their order, without repetitions."""
    return tuple(dict.fromkeys(doubts))


def with_sentences(result: Any) -> dict[str, Any]:
    """The fields of a result that has doubts, for JSON: doubts are sentences there."""
    return asdict(replace(result, doubts=tuple(map(str, result.doubts))))


GIVE_DIM = "give dim where it is known, or more points"
MORE_POINTS = "give more points"
LONGER = "record for longer, or join recordings that pass the same places at other times"
FLAT: About = "flat part"

# By kind and code: what is said, what to do, and when it arises.
TEXTS: dict[Kind, dict[str, tuple[str, str, str]]] = {
    "sampling": {
        "grid": (
            "the points lie on a regular grid ({seen}), or were rounded as coarsely as they lie "
            "apart; dimension, tangents and number of factors assume a random sample",
            "draw the values of each factor at random, keep more decimals, or use scores for grids",
            "Neighbours lie at equal distances or on opposite sides, more often than in a random "
            "sample.",
        ),
        "trajectory": (
            "the rows are a trajectory that has not covered its manifold ({seen}), so that the "
            "path is what is measured",
            LONGER,
            "Rows follow one another, and most neighbours in space are neighbours in time too.",
        ),
        "path": (
            "the rows follow one another along a curve that {how} ({seen}); if they are a "
            "recording, the curve may be its path and no state space",
            "record for longer, or put the rows in random order if the curve is meant",
            "Rows in their order go along a curve once, so a path cannot be told from a curved "
            "space.",
        ),
        "slow-walk-on-curve": (
            "a slow walk along a curve that does not close: {n:,} rows are worth about "
            "{worth:.0f} independent ones, and the curve may go on where it has not been",
            "record for longer",
            "Consecutive rows hardly move, and the curve is open: its ends may be those of the "
            "recording.",
        ),
        "slow-walk": (
            "a slow walk: {n:,} rows are worth about {worth:.0f} independent ones, which have not "
            "covered its manifold",
            LONGER,
            "`times` was given, and rows become independent so slowly that few independent ones "
            "remain.",
        ),
        "separate-groups": (
            "most places are those of one group: without its rows the nearest points lie "
            "{farther:.1f} times as far",
            "give more groups, or fit without groups",
            "`groups` was given, and each group has places that no other group visits.",
        ),
        "outliers": (
            "{count:,} of {n:,} points lie far from all others and were left out",
            "look at the rows in outliers_",
            "More than 5 % of the rows (or 0.5 %, as a warning) are far from all others.",
        ),
        "pieces": (
            "the neighbour graph is in {count} pieces (of {sizes} points), and factors are only "
            "comparable within a piece{unlike}",
            "fit the pieces one by one, or give a larger n_neighbors",
            "No chain of neighbours leads from some points to others: classes, sessions or gaps.",
        ),
        "incomplete-sample": (
            "{dropped:,} of {total:,} sampled rows hold NaN or infinity and are left out",
            "remove or repair these rows",
            "A sample was read from a file or array, and some of its rows are not finite.",
        ),
        "whole-problem": (
            "the factors share the ambient space, so that the eigenproblem was posed on all {n:,} "
            "rows of the sample",
            "take a smaller sample if memory is short: it grows in proportion to the sample",
            "Factors are not in subspaces of their own, so the refinement by subspaces does not "
            "apply.",
        ),
        "spread-alone": (
            "factors are told apart by their spread alone: correlated Gaussians have such "
            "principal axes, which are not their factors",
            "take them for factors only if they are known to be uncorrelated",
            "Flat coordinates are Gaussian, so nothing but their variances tells directions apart.",
        ),
        "contrasts-disagree": (
            "entropy and support disagree by {angle:.0f} degrees about the directions of the flat "
            "factors",
            "draw the factors independently of each other, or take them for one",
            "Two measures of independence prefer different rotations.",
        ),
        "shared-information": (
            "flat factors {one} and {other} share {information:.3f} nat of information",
            "take them for one, or draw them independently",
            "The coordinates of two flat factors depend on each other.",
        ),
        "evenly-spaced": (
            "the points are evenly spaced, which misleads distances",
            "give dim where it is known, or a random sample",
            "Nearest neighbours all have the same distance.",
        ),
        "map-in-pieces": (
            "it is in pieces: the largest has {share:.0%} of the points",
            "fit the pieces one by one",
            "The map of a factor is not connected.",
        ),
    },
    "noise": {
        "counts": (
            "the values are whole numbers",
            "if they are counts, fit with prepare='sqrt'",
            "Another doubt was raised and the values look like counts, whose noise grows with "
            "them.",
        ),
        "wrong-order": (
            "{given}the order along the curve is wrong ({found}); the points are too few, too "
            "noisy, or no single curve",
            "give more points, or average neighbouring rows first",
            "The order along the fitted curve does not predict the rows.",
        ),
        "noisy-surface": (
            "{error}, more than {limit}, where dimension 2 was fitted; the points are too few, "
            "too noisy, or no surface, as where two surfaces meet",
            "give more points, or look where the axes of neighbours differ most",
            "The tangent planes of a surface, fitted to halves of the neighbours, differ by much.",
        ),
        "noisy-tangents": (
            "{error}{limit} and may merge or mix factors",
            MORE_POINTS,
            "Tangent spaces fitted to halves of the neighbours differ by much.",
        ),
        "not-converged": (
            "the eigenfields have not converged",
            "fit again with another random_state",
            "The eigensolver reached its limit of iterations.",
        ),
        "turning-frame": (
            "the frame of the flat part turns by {turn:.2f} radian from end to end, by noise or "
            "because it is not quite flat",
            "give tangent_neighbors a larger value, or fewer columns, to tell which",
            "The parallel frame that the coordinates follow is not the same everywhere.",
        ),
        "unexplained-steps": (
            "no coordinates explain {rel:.0%} of the squared steps: noise as long as the steps, "
            "or shortcuts between neighbours",
            "give more points, or n_neighbors",
            "Steps between neighbours do not add up to coordinates.",
        ),
        "nearly-as-long": (
            "the curved fits leave directions that are nearly as long ({ratio:.1f})",
            GIVE_DIM,
            "The longest direction that a fit leaves is nearly as long as its shortest tangent.",
        ),
        "changes-with-scale": (
            "the dimension changes with the scale: {changes}",
            GIVE_DIM,
            "Small and large neighbourhoods have different dimensions: noise, or thin factors.",
        ),
        "thick-surface": (
            "the surface is {times:.0f} times as thick as the noise",
            GIVE_DIM,
            "What the fits leave is much more than the noise in the other directions.",
        ),
        "distances-disagree": (
            "distances say {dim}",
            GIVE_DIM,
            "Estimates from distances agree with each other, and not with the curved fits.",
        ),
        "all-noise": (
            "all noise: in all {d} directions that vary the points scatter like normal noise, and "
            "nothing tells a manifold from it",
            "give dim where it is known",
            "The points look like a normal distribution in all directions.",
        ),
        "filled-by-noise": (
            "noise may fill the {d} directions that vary",
            GIVE_DIM,
            "No dimension below that of the space passes, and there is noise, or distances "
            "disagree.",
        ),
        "no-dimension": (
            "no dimension stands out at any scale{tried}",
            "give dim, more points, or points with less noise",
            "Neither curved fits nor distances tell a dimension.",
        ),
    },
    "metric": {
        "not-euclidean": (
            "the distances are not those of points in space ({lost:.0%} of what they say is "
            "lost); factors, lengths and periods are those of the nearest such points",
            "give coordinates, or geodesic or Euclidean distances",
            "Distances were given, and no points in a Euclidean space have them, even nearby.",
        ),
        "unmeasured-departure": (
            "how far the metric is from a product's cannot be measured with these tangents",
            "fit without tangents='pca', or with a denser graph",
            "Errors of the tangents are unknown, so departures from a product cannot be told from "
            "them.",
        ),
        "departure": (
            "{departure}",
            "take the factors for one, or for nearly independent",
            "Lengths in one factor change with the place in another by more than errors explain.",
        ),
        "not-unrolled": (
            "the flat part was not unrolled, so it may be several factors: {reason}",
            "give more points, or split it by what is known of it",
            "A flat part has no isometric coordinates: too few points, pieces, or lengths that "
            "are wrong.",
        ),
        "half-closed": (
            "not unrolled: one direction closes and the other does not, with lengths that differ "
            "from place to place",
            "look at a circle and an interval as its factors: n_factors=2",
            "A surface is curved, yet one direction closes and the other does not.",
        ),
        "unrolled-alone": (
            "transport found no flat part (the most constant field varies by {variation:.2f}): "
            "the coordinates rest on the unrolling alone, and lengths along one depend on the "
            "others",
            "take the factors for independent parameters at best",
            "No field is parallel, but the points unroll well, as images of an object in several "
            "poses do.",
        ),
        "wrong-lengths": (
            "lengths along the flat coordinates are wrong by {strain:.0%}",
            "trust their order, not their lengths, or give more points",
            "Edges around a point agree that the coordinates stretch or shrink them.",
        ),
        "not-flat": (
            "lengths along the flat coordinates are wrong by {strain:.1%}, of which noise "
            "explains {noise:.1%}; the part is not flat, and its directions need not be factors",
            "take it for one factor, or give more points",
            "Lengths along the coordinates are wrong by more than noise explains.",
        ),
        "curved-part": (
            "the flat part curves ({curvature}), so directions that look independent need not be "
            "factors",
            "take its coordinates as a map of one factor, unless the data should be a product of "
            "other lengths",
            "The Gauss equation gives a curvature that errors do not explain.",
        ),
        "no-map": (
            "{which}",
            "leave n_factors out where it was given, or take factors {one} and {other} for one to "
            "begin with, or for nearly independent",
            "The map of a factor collapses or misfits: the space does not split along it.",
        ),
        "changing-lengths": (
            "{change}",
            "take factors {one} and {other} for one to begin with, or for nearly independent",
            "The product test found that lengths in one factor depend on the place in another.",
        ),
        "rough-map": (
            "lengths on its map are off by {misfit:.0%}",
            "take the name as a guess, or give more points",
            "The map that the name is read from is not isometric.",
        ),
        "flat-map": (
            "it is curved, and its map has no room to show how",
            MORE_POINTS,
            "A curved factor has a map of as many columns as its dimension.",
        ),
    },
    "not a manifold": {
        "branching-curve": (
            "{given}the points are no single curve ({found}); they branch or cross near row "
            "{row:,}, or turns come as near as their points",
            "leave out the rows where arms meet and fit the arms one by one, or give more points",
            "The order along the fitted curve does not predict the rows, and several arms meet.",
        ),
        "mixed-dimensions": (
            "at {share:.0%} of the points a smaller dimension is clear, so that dimensions may be "
            "mixed",
            "fit the parts of different dimension one by one",
            "The points are a union of sets of different dimensions.",
        ),
        "fills": (
            "the points fill all directions that vary",
            "nothing, if a solid piece of space is expected",
            "The points are a solid piece of space without signs of noise.",
        ),
        "no-patches": (
            "{share:.0%} of the places lie on no patch",
            "fit a smooth part of the points",
            "A quadratic surface does not fit the neighbourhoods on a map.",
        ),
        "branching-line": (
            "it may branch or cross itself",
            "leave out the rows where arms meet",
            "A one-dimensional factor has places where more than two arms meet.",
        ),
    },
    "not global": {
        "without-axes": (
            "{lost:,} points could not be unrolled with the others and have no axes",
            "fit them on their own, or give a larger n_neighbors",
            "Some points of a connected graph are not reached by the coordinates of the others.",
        ),
        "overlaid": (
            "points that lie apart have the same coordinates in all maps, as where one factor is "
            "twisted around another; factors, names and coordinates hold nearby and not for the "
            "whole",
            "compare coordinates of near points only",
            "More than 5 % of the points share their place in all maps with points that are not "
            "near.",
        ),
        "common-loops": (
            "the shortest loops go around in factors {one} and {other} at once, so that these are "
            "directions of one torus rather than factors",
            "leave n_factors out where it was given, or take the two for one",
            "Loops of flat factors cannot be told apart by the factor that they go around in.",
        ),
        "no-name": (
            "{what} has no name here",
            "read its evidence: Betti numbers, curvature, boundary",
            "The evidence is clear, and fits none of the spaces that have a name.",
        ),
        "contradiction": (
            "{one}, and {other}",
            "give more points, and do not use the name",
            "Two ways to read the same property of a space give different answers.",
        ),
        "no-betti-numbers": (
            "{rests}, without Betti numbers",
            "install ripser: pip install ripser",
            "Betti numbers need the extra package ripser.",
        ),
    },
    "too few points": {
        "unclear-dimension": (
            "{estimate}",
            GIVE_DIM,
            "The estimate of the dimension is doubtful; what speaks against it stands in the "
            "sentence.",
        ),
        "limited-dimension": (
            "dimension {dim} was used, because there are too few points for more ({estimate})",
            MORE_POINTS,
            "The estimated dimension needs more points in every neighbourhood than there are.",
        ),
        "scanned-dimension": (
            "the dimension was not clear ({estimate}): fits of dimension {fits} were made, with "
            "so many doubts, and {kept} kept",
            GIVE_DIM,
            "`dim='scan'` compared several dimensions; the number of doubts of each is in "
            "brackets.",
        ),
        "hidden-factor": (
            "a small factor may be hidden: fits of dimension {dim} leave the points on a shell "
            "({spread:.2f} of the spread of noise), and the two nearest neighbours see dimension "
            "{two_nn:.1f}",
            "give more points, or enlarge the columns that vary least",
            "Points lie at one distance from the fitted surface, as on a sphere below their "
            "spacing.",
        ),
        "uneven-field": (
            "the norm of field {field} varies by {variation:.2f}",
            "give more points, which would tell whether it is parallel",
            "The norm of a parallel field is the same everywhere; that of this one is only nearly "
            "so.",
        ),
        "small-eigenvalue": (
            "the eigenvalue of field {field} is as small as a parallel field's",
            "give more points, which would tell whether it is parallel",
            "A field was not counted as parallel, though its eigenvalue is nearly zero.",
        ),
        "lone-eigenvalue": (
            "the lowest eigenvalue stands alone, {ratio:.1f} times below the next, so that two "
            "factors may be merged",
            "give more points, or n_factors=2 to look at them",
            "One factor was found, but the lowest eigenvalue is far below the others.",
        ),
        "unclear-flatness": (
            "the number of parallel fields is not clear, and with it what is flat: the eigenvalue "
            "of the next is only {ratio:.2f} times as large",
            "give more points, or the dimension",
            "The gap above the eigenvalues of the parallel fields is small.",
        ),
        "few-for-directions": (
            "{n} points are too few to judge {directions} flat directions, which may be several "
            "factors",
            MORE_POINTS,
            "Statistical independence was not tested: fewer than 50 points a direction.",
        ),
        "unstable-directions": (
            "flat directions were left together because they turn by {angle:.0f} degrees between "
            "halves of the points, so they may be several factors",
            MORE_POINTS,
            "Rotations to independent coordinates of two halves of the points disagree.",
        ),
        "map-splits": (
            "the map of factor {factor} splits again into {dims}",
            "fit with n_factors={n_factors} to look at them",
            "Without the noise of the other factors, parallel fields show in the map of one.",
        ),
        "refits-disagree": (
            "refits disagree about the factors: {tally}",
            "give more points, or look at est.confidence_",
            "Fits to parts of the points, asked for with `confidence`, found other factors.",
        ),
        "smaller-dimension": (
            "dimension {dim} nearly passes ({ratio:.1f})",
            GIVE_DIM,
            "Fits of a smaller dimension leave little, too.",
        ),
        "uneven-rest": (
            "what the fits leave is not even noise, so that a small factor may be hidden in it",
            GIVE_DIM,
            "Without a floor of noise, the directions that the fits leave differ in length.",
        ),
        "few-for-fits": (
            "{n:,} points are too few for curved fits of dimension {dim}, which take {needed:,}, "
            "so that distances alone tell it",
            MORE_POINTS,
            "The dimension was read from distances alone, which are biased.",
        ),
        "few-for-name": (
            "{why}",
            MORE_POINTS,
            "A map, a boundary, an orientation or a Betti number cannot be told from so few "
            "points.",
        ),
    },
    "told by the user": {
        "given-dimension": (
            "dim={dim} was given, but the points look like {estimate}",
            "leave dim out",
            "`dim` differs from what the points say.",
        ),
        "unconfirmed-dimension": (
            "dim={dim} was given, and nothing confirms it: {error}, as where noise is too strong "
            "or the dimension is another one, and the points alone look like dimension {found}, "
            "{verdict}",
            "compare dim='scan', or give less noisy points",
            "`dim=2` was given, the estimate is doubtful too, and the tangents err by much.",
        ),
        "no-curve": (
            "{given}no curve was found that the points follow ({found})",
            "leave dim out",
            "`dim=1` was given, and the order along the fitted curve does not predict the rows.",
        ),
        "given-factors": (
            "n_factors={given} was given, and the fields tell {found} apart",
            "leave n_factors out to see them",
            "`n_factors` differs from the number that the parallel fields give.",
        ),
        "one-method": (
            "by {method} alone{found}",
            "compare method='fits'",
            "`intrinsic_dimension` was asked for one method, which has nothing to be compared "
            "with.",
        ),
    },
}

# About the dimension itself, checks of a finished fit, and remarks: these weigh nothing.
WEIGHTLESS = {
    "whole-problem",
    "unclear-dimension",
    "limited-dimension",
    "given-dimension",
    "unconfirmed-dimension",
    "scanned-dimension",
    "hidden-factor",
    "branching-curve",
    "no-curve",
    "wrong-order",
    "noisy-surface",
    "fills",
}

DOUBTS = {
    code: DoubtKind(code, kind, *texts, weight=float(code not in WEIGHTLESS))
    for kind, own in TEXTS.items()
    for code, texts in own.items()
}
