"""A page of a user's code over the public face, read by `mypy --strict` and run by nobody.

A line that ends in ``# type: ignore[...]`` is a mistake that must not type-check: where mypy sees
none, the ignore is unused and checking fails.
"""

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import geodis as gd
from geodis import kernels, models, plots, scores

Array = NDArray[np.float64]


class Uniform:
    def cdf(self, x: Array) -> Array:
        return x

    def ppf(self, q: Array) -> Array:
        return q


def files_and_grids() -> gd.XYSquares:
    assert gd.load_array("latents.npy").shape == (1000, 5)
    factors = gd.load_factors("factors.csv")
    assert_type(factors, gd.Factors)
    assert_type(factors.names, tuple[str, ...])
    gd.load_array(3)  # type: ignore[arg-type]
    sample = gd.product_manifold("S^2 x SO(3)", n=2000, random_state=0)
    assert_type(sample, gd.ManifoldSample)
    gd.published_grid("dsprite", "folder")  # type: ignore[arg-type]
    gd.XYObject(palette="neon")  # type: ignore[arg-type]
    gd.data.flat_sample("nope", 10)  # type: ignore[arg-type]
    gd.data.flat_sample("swiss roll", 10)
    gd.data.variant_of(gd.Sprites(), "grey")  # type: ignore[arg-type]
    gd.no_such_name()  # type: ignore[attr-defined]
    assert_type(gd.as_factors({"x": [0, 1]}), gd.Factors)
    return gd.XYSquares(spacing=4)


def own_results(value: float) -> None:
    if value < 0:
        raise gd.base.InputError(f"value must be 0 or more; got {value}.")
    with gd.base.Stages("own") as stages, stages.stage("writing"):
        gd.base.write_json("own.json", {"value": value})
    gd.base.Stages(3)  # type: ignore[arg-type]


def geometry(points: Array) -> None:
    est = gd.GeoManCER(rule="gap", flat="keep", tangents="pca", verbose=0).fit(points)
    assert_type(est, gd.GeoManCER)
    assert_type(gd.load("fit.safetensors"), gd.GeoManCER)
    assert_type(est.fitted_, gd.manifold.Fit)
    gd.GeoManCER(rule="nope")  # type: ignore[arg-type]
    gd.GeoManCER(flat="nope")  # type: ignore[arg-type]
    gd.GeoManCER(tangents="nope")  # type: ignore[arg-type]
    assert_type(est.dim_, int)
    assert_type(est.n_factors_, int)
    assert_type(est.graph_, gd.NeighborGraph)
    assert_type(est.dimension_, gd.DimensionEstimate)
    assert_type(est.seconds_, dict[str, float])
    assert_type(est.atlas(), gd.Atlas)
    assert_type(gd.Atlas.load("atlas.safetensors"), gd.Atlas)
    parts = gd.factorise_parts("big.npy", "parts", sample=10_000, dtype="float64")
    assert_type(parts, gd.PartsFolder)
    parts.read("nope")  # type: ignore[arg-type]
    gd.factorise_parts("big.npy", "parts", dtype="int8")  # type: ignore[arg-type]
    est.axes_.no_such_method()  # type: ignore[attr-defined]
    gd.nearest_neighbors(points, 5, n_jobs="2")  # type: ignore[arg-type]
    gd.manifold.Settings(n_jobs=None)
    gd.GeoManCER(no_such_option=1)  # type: ignore[call-arg]
    assert_type(gd.intrinsic_dimension(points), gd.DimensionEstimate)
    assert_type(gd.inspect_points(points), gd.Inspection)
    assert_type(gd.neighbor_graph(points), gd.NeighborGraph)
    gd.nearest_neighbors(points, 5, method="kd-tree")  # type: ignore[arg-type]
    gd.subspace_angles([points], [points], matching="best")  # type: ignore[arg-type]
    gd.entangle(points, marginals="uniform")
    gd.entangle(points, marginals="nope")  # type: ignore[arg-type]
    gd.entangle(points, marginals=[Uniform(), Uniform()])
    plots.plot_eigenvalue_spectrum(est)


def one_page(latents: Array, factors: Array) -> None:
    page = gd.report(latents, factors, out="report", verbose=0)
    assert_type(page, gd.Report)
    assert_type(page.scores, gd.ScoreTable | None)
    assert_type(page.inspection, gd.Inspection | None)
    assert_type(page.manifold, gd.GeoManCER | None)
    assert_type(page.summary, tuple[str, ...])
    page.scores["mig"]  # type: ignore[index]
    gd.report(latents, no_such_option=1)  # type: ignore[call-arg]


def every_score(latents: Array, factors: Array) -> None:
    table = gd.score_latents(latents, factors, ["mig"], verbose=0)
    assert_type(table, gd.ScoreTable)
    assert_type(table["mig"], float)
    assert_type(scores.mig(latents, factors).value, float)
    assert_type(gd.scores.dci(latents, factors, method="lasso"), scores.Score)
    scores.dci(latents, factors, method="boosted")  # type: ignore[arg-type]
    scores.mutual_information(latents, factors, method="width")  # type: ignore[arg-type]
    scores.bin_factors(factors, method="width")  # type: ignore[arg-type]
    scores.no_such_score(latents, factors)  # type: ignore[attr-defined]
    plots.plot_scores(table)


def distances(grid: gd.FactorGrid, latents: Array) -> None:
    agreement = gd.distances.distance_correlations(grid, latents, n_pairs=2000, kind="l2")
    assert_type(agreement, gd.distances.DistanceCorrelations)
    gd.distances.distance_correlations(grid, kind="l3")  # type: ignore[arg-type]
    gd.distances.traversal_matrix(grid, "x", "seen")  # type: ignore[arg-type]
    gd.distances.sample_pairs(grid, 100, by="chance")  # type: ignore[arg-type]
    assert_type(gd.distances.overlap(grid, "box:31").adversarial, bool)
    plots.plot_distance_correlations(agreement)


def learnt_losses(grid: gd.FactorGrid) -> None:
    kernel = gd.kernels.learn_kernel(grid, radius=9, verbose=0)
    assert_type(kernel, kernels.LossKernel)
    kernels.soft_rank([3.0, 1.0], regularization="l1")  # type: ignore[arg-type]
    kernels.learn_kernel(grid, radius="9")  # type: ignore[arg-type]
    kernels.LossKernel.box(2, loss="mae", support="full")
    kernels.LossKernel.box(2, normalise="nope")  # type: ignore[call-arg]
    kernels.LossKernel.gaussian(2, support="nope")  # type: ignore[arg-type]
    model = models.VAE(grid, latents=4, loss=kernel)
    assert_type(models.train(model, grid, steps=5), models.Training)
    models.encode(model, grid)
    models.VAE(grid, latents="four")  # type: ignore[arg-type]
    models.AdaTVAE(grid, deltas="kl", p=2, normalise="mean", random_state=1)
    models.AdaTVAE(grid, deltas="nope")  # type: ignore[arg-type]
    models.AdaTVAE(grid, nosuch=3)  # type: ignore[call-arg]
    models.TVAE(grid, p=3)  # type: ignore[arg-type]
    models.AdaGVAE(grid, average="nope")  # type: ignore[arg-type]
    models.AdaMLVAE(grid, normalise="nope")  # type: ignore[arg-type]
    models.DIPVAE(grid, kind="III")  # type: ignore[arg-type]
    models.TrainOptions(rows_on="gpu")  # type: ignore[arg-type]
    models.TrainOptions(prefetch="often")  # type: ignore[arg-type]
    models.TrainOptions(callbacks={"kl": lambda model, terms: terms["kl"]})
    models.TrainOptions(callbacks={"one": lambda model: 1.0, "steps": lambda model, terms: 2.0})
    models.TripletEncoder(grid, network="nope")  # type: ignore[arg-type]
    models.MetricEncoder(grid, learn_from="nope")  # type: ignore[arg-type]
