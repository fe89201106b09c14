"""Public names, and where each lives: what runs and what type checkers read."""

from . import base as base
from . import data as data
from . import manifold as manifold
from . import distances as distances
from . import scores as scores
from . import kernels as kernels
from . import models as models
from . import parts as parts
from . import plots as plots
from .base.check import GeodisWarning as GeodisWarning, InputError as InputError
from .data.files.load import load_array as load_array, load_factors as load_factors
from .data.factors import Factors as Factors, as_factors as as_factors
from .data.entangling import entangle as entangle
from .data.manifolds.products import (
    product_manifold as product_manifold,
    ManifoldSample as ManifoldSample,
)
from .data.population import (
    sample_population as sample_population,
    PopulationSample as PopulationSample,
)
from .data.grids.grid import FactorGrid as FactorGrid
from .data.grids.squares import (
    XYSquares as XYSquares,
    XYObject as XYObject,
    XYObjectShades as XYObjectShades,
)
from .data.grids.published import published_grid as published_grid
from .data.scenes.s3o4d import load_s3o4d as load_s3o4d
from .data.grids.sprites import Sprites as Sprites
from .data.grids.variants import NoiseMasked as NoiseMasked
from .data.scenes.lit_object import Scenes as Scenes
from .data.scenes.lighting import SceneSample as SceneSample, SceneWalk as SceneWalk
from .inspection import inspect_points as inspect_points, Inspection as Inspection
from .manifold.local.neighbors import nearest_neighbors as nearest_neighbors, Neighbors as Neighbors
from .manifold.local.graph import neighbor_graph as neighbor_graph, NeighborGraph as NeighborGraph
from .manifold.local.dimension import intrinsic_dimension as intrinsic_dimension
from .manifold.local.dimension_estimate import DimensionEstimate as DimensionEstimate
from .manifold.local.principal import (
    principal_components as principal_components,
    PrincipalComponents as PrincipalComponents,
)
from .manifold.geomancer import GeoManCER as GeoManCER, load as load
from .manifold.atlas.fitted_atlas import Atlas as Atlas
from .manifold.split_result import Evidence as Evidence
from .parts.factorise_parts import factorise_parts as factorise_parts
from .parts.map_part import open_parts as open_parts, PartsFolder as PartsFolder
from .manifold.holonomy.factor_axes import ffdiag as ffdiag, Diagonalisation as Diagonalisation
from .manifold.local.angles import (
    subspace_angles as subspace_angles,
    unaligned_angles as unaligned_angles,
)
from .scores.score_latents import score_latents as score_latents
from .scores.score_table import ScoreTable as ScoreTable
from .scores.many.score_many import score_many as score_many
from .scores.many.many_scores import ManyScores as ManyScores
from .report.build import report as report
from .report.results import Report as Report
from .report.comparison.compare import compare as compare
from .report.comparison.comparison_results import Comparison as Comparison

__version__: str
