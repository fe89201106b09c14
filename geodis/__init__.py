"""geodis: geometry-first disentanglement analysis of points, latents and images.

Importing this package is cheap: a public name is imported when it is first used, so torch,
matplotlib and pynndescent load only where they are needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from geodis._lazy import lazy_names

__version__ = "0.1.0"

if TYPE_CHECKING:  # for editors and type checkers; `_HOME` is what runs
    from geodis.data.entangling import entangle
    from geodis.data.files import Factors, load_array, load_factors
    from geodis.data.grids import FactorGrid
    from geodis.data.manifolds import ManifoldSample, product_manifold
    from geodis.data.published import published_grid
    from geodis.data.s3o4d import load_s3o4d
    from geodis.data.scenes import Scenes, SceneSample, SceneWalk
    from geodis.data.sprites import NoiseMasked, Sprites
    from geodis.data.squares import XYObject, XYObjectShades, XYSquares
    from geodis.inspection import Inspection, inspect_points
    from geodis.manifold.diagonalise import Diagonalisation, ffdiag
    from geodis.manifold.dimension import DimensionEstimate, intrinsic_dimension
    from geodis.manifold.evaluate import subspace_angles, unaligned_angles
    from geodis.manifold.evidence import Evidence
    from geodis.manifold.geomancer import GeoManCER
    from geodis.manifold.graph import NeighborGraph, neighbor_graph
    from geodis.manifold.principal import PrincipalComponents, principal_components
    from geodis.manifold.search import Neighbors, nearest_neighbors
    from geodis.report.build import report
    from geodis.report.results import Report
    from geodis.scores._score_table import ScoreTable
    from geodis.scores.table import score_latents

# Public names in pipeline order, and where each lives.
_HOME = {
    "load_array": "data.files",
    "load_factors": "data.files",
    "Factors": "data.files",
    "entangle": "data.entangling",
    "product_manifold": "data.manifolds",
    "ManifoldSample": "data.manifolds",
    "FactorGrid": "data.grids",
    "XYSquares": "data.squares",
    "XYObject": "data.squares",
    "XYObjectShades": "data.squares",
    "published_grid": "data.published",
    "load_s3o4d": "data.s3o4d",
    "Sprites": "data.sprites",
    "NoiseMasked": "data.sprites",
    "Scenes": "data.scenes",
    "SceneSample": "data.scenes",
    "SceneWalk": "data.scenes",
    "inspect_points": "inspection",
    "Inspection": "inspection",
    "nearest_neighbors": "manifold.search",
    "Neighbors": "manifold.search",
    "neighbor_graph": "manifold.graph",
    "NeighborGraph": "manifold.graph",
    "intrinsic_dimension": "manifold.dimension",
    "DimensionEstimate": "manifold.dimension",
    "principal_components": "manifold.principal",
    "PrincipalComponents": "manifold.principal",
    "GeoManCER": "manifold.geomancer",
    "Evidence": "manifold.evidence",
    "ffdiag": "manifold.diagonalise",
    "Diagonalisation": "manifold.diagonalise",
    "subspace_angles": "manifold.evaluate",
    "unaligned_angles": "manifold.evaluate",
    "score_latents": "scores.table",
    "ScoreTable": "scores._score_table",
    "report": "report",
    "Report": "report.results",
}

# Rooms reached as attributes: `geodis.distances.perceived`.
_ROOMS = ("data", "manifold", "distances", "scores", "kernels", "models", "plots")

__all__ = [*_HOME, "__version__"]
__getattr__, __dir__ = lazy_names(__name__, {**_HOME, **{room: room for room in _ROOMS}})
