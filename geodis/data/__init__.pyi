"""Public names, and where each lives: what runs and what type checkers read."""

from .factors import Factors as Factors, as_factors as as_factors, FactorKind as FactorKind
from .columns import Labels as Labels
from .files.load import load_array as load_array, load_factors as load_factors
from .files.formats import (
    register_reader as register_reader,
    unregister_reader as unregister_reader,
)
from .files.open_rows import open_rows as open_rows
from .files.formats import Contents as Contents, Stored as Stored
from .manifolds.products import (
    product_manifold as product_manifold,
    ManifoldSample as ManifoldSample,
)
from .manifolds.spec import register_space as register_space, unregister_space as unregister_space
from .manifolds.spec import Space as Space
from .manifolds.flat_products import (
    flat_sample as flat_sample,
    bent_sample as bent_sample,
    grid_coordinates as grid_coordinates,
    bend as bend,
    involute as involute,
    FlatSample as FlatSample,
)
from .manifolds.directions import random_rotations as random_rotations
from .manifolds.directions import quaternions as quaternions, step_along as step_along
from .population import sample_population as sample_population, PopulationSample as PopulationSample
from .grids.grid import FactorGrid as FactorGrid
from .grids.grid import latents_of as latents_of
from .grids.observed import ObservedGrid as ObservedGrid
from .grids.squares import (
    XYSquares as XYSquares,
    XYObject as XYObject,
    XYObjectShades as XYObjectShades,
)
from .grids.sprites import Sprites as Sprites
from .grids.variants import NoiseMasked as NoiseMasked
from .grids.variants import (
    ColorVariant as ColorVariant,
    NoisyVariant as NoisyVariant,
    ScreamVariant as ScreamVariant,
    variant_of as variant_of,
)
from .grids.published import built_in_grid as built_in_grid
from .grids.published import published_grid as published_grid
from .scenes.lit_object import Scenes as Scenes
from .scenes.lighting import SceneSample as SceneSample, SceneWalk as SceneWalk
from .scenes.meshes import (
    Mesh as Mesh,
    blob as blob,
    cube as cube,
    geodesic_sphere as geodesic_sphere,
)
from .scenes.lighting import RenderedSample as RenderedSample
from .scenes.s3o4d import load_s3o4d as load_s3o4d
from .entangling import entangle as entangle, entangling_matrix as entangling_matrix
