"""How well GeoManCER factorises products of manifolds, and what each of its parts is worth.

1. Error against the number of points for ten products, as in the figure of Pfau et al. (2020), by
   the flags nearest to the published algorithm and by the defaults, with the spectra that the
   number of factors is read from.
2. The changes one by one: curved tangents, refinement, the coarse start of the eigenproblem.
3. Noise, and uneven sampling.

Run `python analyses/manifold_factorisation.py --preset quick`; what is finished is kept when it is
interrupted. The coarse start only saves time and has no switch in `GeoManCER`: it is measured on
the stages themselves, with and without.
"""

from __future__ import annotations

import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import KDTree

import geodis as gd
from analyses.shared.run import main_of
from geodis import plots
from geodis.base import InputError, Stages, whole_file, write_json
from geodis.manifold.holonomy.connection import connection
from geodis.manifold.holonomy.eigenfields import bottom_eigenfields, coarse_start
from geodis.manifold.holonomy.laplacian import ConnectionLaplacian
from geodis.manifold.local.graph import default_degree
from geodis.manifold.local.quadratic_fits import tangent_terms
from geodis.manifold.local.tangents import neighbors_for_tangents, tangent_frames

# Points for each unknown of the tangent fit below which no curve starts: factors are left merged.
LEAST_PER_UNKNOWN = 20

OUT = Path(__file__).parent / "results" / "manifold_factorisation"

MANIFOLDS = {
    "S² × S²": "S^2 x S^2",
    "S² × S³": "S^2 x S^3",
    "S² × SO(3)": "S^2 x SO(3)",
    "(S²)³": "S^2 x S^2 x S^2",
    "SO(3) × SO(3)": "SO(3) x SO(3)",
    "S² × S⁴": "S^2 x S^4",
    "S³ × S³": "S^3 x S^3",
    "(S²)⁴": "S^2 x S^2 x S^2 x S^2",
    "S² × S² × SO(3)": "S^2 x S^2 x SO(3)",
    "S² × S⁴ × SO(3)": "S^2 x S^4 x SO(3)",
}

PUBLISHED, DEFAULT = "published", "geodis: curved, refined"
VARIANTS: dict[str, dict[str, Any]] = {
    PUBLISHED: {"tangents": "pca", "refinements": 0, "normalized": False, "rule": "gap"},
    "PCA tangents, normalised": {"tangents": "pca", "refinements": 0},
    "curved tangents": {"refinements": 0},
    DEFAULT: {},
}


@dataclass(frozen=True)
class Preset:
    """Sizes of everything. The dimension is always given, the number of factors counted."""

    sizes: tuple[int, ...]
    published_sizes: tuple[int, ...]
    seeds: tuple[int, ...]
    changed: tuple[str, ...]  # manifolds on which the changes are taken one by one
    changed_points: int
    start_points: tuple[int, ...]
    swept: tuple[str, ...]
    swept_points: int
    noises: tuple[float, ...]
    densities: tuple[float, ...]


PRESETS = {
    "quick": Preset(
        sizes=(500, 1000, 2000, 4000),
        published_sizes=(500, 1000, 2000),
        seeds=(0,),
        changed=("S² × S²", "S² × S³", "S² × SO(3)", "(S²)³", "SO(3) × SO(3)", "S² × S⁴"),
        changed_points=2000,
        start_points=(6000, 12_000),
        swept=("S² × S²",),
        swept_points=2000,
        noises=(0.0, 0.01, 0.03, 0.1),
        densities=(0.0, 1.0, 2.0, 5.0),
    ),
    "paper": Preset(
        sizes=(1000, 3000, 10_000, 30_000, 100_000),
        published_sizes=(1000, 3000, 10_000, 30_000),
        seeds=(0, 1, 2, 3, 4),
        changed=tuple(MANIFOLDS),
        changed_points=10_000,
        start_points=(10_000, 30_000, 100_000, 300_000),
        swept=("S² × S²", "S² × SO(3)", "(S²)³"),
        swept_points=10_000,
        noises=(0.0, 0.003, 0.01, 0.02, 0.03, 0.05, 0.1),
        densities=(0.0, 1.0, 2.0, 3.0, 5.0),
    ),
}


@dataclass(frozen=True)
class Case:
    """One fit to sampled points."""

    part: str
    manifold: str
    n: int
    seed: int
    variant: str = DEFAULT
    noise: float = 0.0
    density: float = 0.0
    told: bool = False  # the number of factors

    def __str__(self) -> str:
        extra = f", noise {self.noise:g}" if self.noise else ""
        extra += f", density {self.density:g}" if self.density else ""
        return f"{self.part}: {self.manifold}, {self.n:,} points{extra}, {self.variant}"


def plan(preset: Preset) -> list[Case]:
    """Every case of a preset, small ones first within each part."""
    cases = [
        Case("error", manifold, n, seed, variant, told=variant == PUBLISHED)
        for n in preset.sizes
        for manifold in MANIFOLDS
        if n >= LEAST_PER_UNKNOWN * tangent_terms(_dim(manifold))
        for variant in (PUBLISHED, DEFAULT)
        if variant == DEFAULT or n in preset.published_sizes
        for seed in preset.seeds
    ]
    cases += [
        Case("changes", manifold, preset.changed_points, seed, variant, told=True)
        for manifold in preset.changed
        for variant in VARIANTS
        for seed in preset.seeds
    ]
    sweeps: list[dict[str, Any]] = [{"part": "noise", "noise": value} for value in preset.noises]
    sweeps += [{"part": "density", "density": value} for value in preset.densities]
    cases += [
        Case(
            manifold=manifold,
            n=preset.swept_points,
            seed=seed,
            variant=variant,
            told=variant == PUBLISHED,
            **sweep,
        )
        for sweep in sweeps
        for manifold in preset.swept
        for variant in (PUBLISHED, DEFAULT)
        for seed in preset.seeds
    ]
    return cases


def _dim(manifold: str) -> int:
    return gd.product_manifold(MANIFOLDS[manifold], 1, random_state=0).dim


def run_case(case: Case) -> dict[str, Any]:
    """Sample, fit, and compare with the truth; the error is pi / 2 where there is no fit."""
    sample = gd.product_manifold(
        MANIFOLDS[case.manifold],
        case.n,
        noise=case.noise,
        density=case.density or None,
        random_state=case.seed,
    )
    est = gd.GeoManCER(sample.dim, random_state=case.seed, verbose=0, **VARIANTS[case.variant])
    if case.told:
        est.set_params(n_factors=sample.n_factors)
    row = {**asdict(case), "dim": sample.dim, "d": sample.points.shape[1]}
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            est.fit(sample.points)
    except InputError as problem:
        wrong = {"error": np.pi / 2, "error_local": np.pi / 2, "right": False}
        return {**row, **wrong, "found": [], "notes": [str(problem)]}
    seconds = time.perf_counter() - start
    subspaces = [est.subspace(j) for j in range(est.n_factors_)]
    usable = np.isfinite(est.axes_).all(axis=(1, 2))
    sides = [frames[usable] for frames in subspaces], [frames[usable] for frames in sample.tangents]
    whole = est.evidence_[0]
    return {
        **row,
        "found": est.factor_dims_.tolist(),
        "right": sorted(est.factor_dims_) == sorted(sample.factor_dims),
        "error": float(gd.subspace_angles(*sides).mean()),
        "error_local": float(gd.subspace_angles(*sides, matching="local").mean()),
        "uncertain": est.uncertain_,
        "converged": est.converged_,
        "refined": est.split_.refined,
        "gap_rule": whole.gap_rule,
        "n_parallel": whole.n_parallel,
        "eigenvalues": whole.eigenvalues.tolist(),
        "variation": whole.variation.tolist(),
        "applications": sum(entry["n_applications"] for entry in est.history_),
        "seconds": seconds,
        "notes": [str(item.message) for item in caught],
    }


def run_start(n: int, seed: int = 0) -> list[dict[str, Any]]:
    """The eigenproblem of S^2 x S^2 from random fields and from a coarse solution."""
    sample = gd.product_manifold("S^2 x S^2", n, random_state=seed)
    points = sample.points[KDTree(sample.points).indices]  # in spatial order, as in the fit
    near = gd.nearest_neighbors(points, neighbors_for_tangents(sample.dim))
    frames = tangent_frames(points, near, sample.dim).frames
    graph = gd.neighbor_graph(points, default_degree(sample.dim))
    laplacian = ConnectionLaplacian(graph, connection(frames, graph))
    rows = []
    for name in ("random", "coarse"):
        begun = time.perf_counter()
        start = None if name == "random" else coarse_start(points, frames, 8, random_state=seed)
        fields = bottom_eigenfields(laplacian, start=start, random_state=seed)
        rows.append(
            {
                "part": "start",
                "manifold": "S² × S²",
                "n": n,
                "seed": seed,
                "start": name,
                "applications": fields.n_applications,
                "converged": fields.converged,
                "n_parallel": fields.n_parallel,
                "eigenvalues": fields.values.tolist(),
                "seconds": time.perf_counter() - begun,
            }
        )
    return rows


def run(
    preset: Preset, out: Path, *, name: str = "", verbose: bool = True
) -> tuple[list[dict[str, Any]], bool]:
    """Run every case, write the table after each, and the figures at the end or when stopped.

    Returns
    -------
    rows : list of dict
    complete : bool
        False after Ctrl-C.
    """
    jobs: list[Case | int] = [*plan(preset), *preset.start_points]
    rows: list[dict[str, Any]] = []
    known: dict[Case, dict[str, Any]] = {}
    complete = False
    try:
        with Stages("manifold factorisation", verbose) as stages:
            with stages.stage("compiling"):
                for variant in (PUBLISHED, DEFAULT):
                    run_case(Case("warm-up", "S² × S²", 400, 0, variant))
            for done, job in enumerate(jobs):
                text = str(job) if isinstance(job, Case) else f"start: S² × S², {job:,} points"
                with stages.stage(f"{done + 1}/{len(jobs)} {text}"):
                    stages.advance(done / len(jobs))
                    new = [_once(job, known)] if isinstance(job, Case) else run_start(job)
                rows += new
                if verbose:
                    print("\n".join(f"{text}: {_outcome(row)}" for row in new), flush=True)
                write_tables(rows, out, preset, name)
        complete = True
    except KeyboardInterrupt:
        print(f"stopped after {len(rows)} rows", file=sys.stderr)
    draw(rows, out)
    return rows, complete


def _once(case: Case, known: dict[Case, dict[str, Any]]) -> dict[str, Any]:
    """A fit that another part asked for before is not repeated."""
    key = replace(case, part="")
    if key not in known:
        known[key] = run_case(case)
    return {**known[key], "part": case.part}


def _outcome(row: dict[str, Any]) -> str:
    if row["part"] == "start":
        return f"{row['start']} start, {row['applications']} applications, {row['seconds']:.1f} s"
    dims = " + ".join(map(str, row["found"])) or "no fit"
    return f"{dims}, error {row['error']:.4f}, {row.get('seconds', 0.0):.1f} s"


def write_tables(rows: Sequence[dict[str, Any]], out: Path, preset: Preset, name: str) -> None:
    """Write results.json with everything, and results.md with tables for people."""
    versions = {"geodis": gd.__version__, "numpy": np.__version__}
    versions["python"] = platform.python_version()
    content = {"preset": name, "settings": asdict(preset), "versions": versions, "rows": rows}
    write_json(out / "results.json", content)
    lines = [
        "# Factorising products of manifolds",
        "",
        f"Preset {name or 'given'}. The dimension is given, the number of factors counted; "
        '"published", and all in the comparison of changes, are told the number. "Published" is '
        "GeoManCER with the flags that come nearest to the published algorithm: its tangents, "
        "Laplacian and gap, but one clustering of the axes for all points. "
        "Cells: mean over points and factors of the largest principal angle to the true tangent "
        "space, in radians, median over seeds; in brackets the dimensions found where they are "
        "wrong (the angle of factors of different dimension is pi / 2, 1.571).",
    ]
    for variant in (DEFAULT, PUBLISHED):
        own = [row for row in rows if row["part"] == "error" and row["variant"] == variant]
        lines += _table(f"Error against points: {variant}", own, "manifold", "n")
        lines += _table(f"Seconds: {variant}", own, "manifold", "n", _seconds)
    for part, columns in (("changes", "variant"), ("noise", "noise"), ("density", "density")):
        own = [row for row in rows if row["part"] == part]
        title = {
            "changes": "One change at a time",
            "noise": "Noise, standard deviation",
            "density": "Uneven sampling, von Mises-Fisher concentration",
        }[part]
        key = "manifold" if part == "changes" else "line"
        own = [{**row, "line": f"{row['manifold']}, {row['variant']}"} for row in own]
        lines += _table(title, own, key, columns)
        if part == "changes":
            lines += _table("The same: seconds", own, key, columns, _seconds)
    own = [row for row in rows if row["part"] == "start"]
    lines += _table("Applications of the Laplacian, by start", own, "start", "n", _applications)
    lines += _table("Seconds of the eigenproblem, by start", own, "start", "n", _seconds)
    with whole_file(out / "results.md") as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _error(rows: Sequence[dict[str, Any]]) -> str:
    wrong = [row for row in rows if not row["right"]]
    other = f" ({' + '.join(map(str, wrong[0]['found'])) or 'no fit'})" if wrong else ""
    return f"{np.median([row['error'] for row in rows]):.4f}{other}"


def _seconds(rows: Sequence[dict[str, Any]]) -> str:
    return f"{np.median([row.get('seconds', np.nan) for row in rows]):.2f}"


def _applications(rows: Sequence[dict[str, Any]]) -> str:
    return f"{np.median([row['applications'] for row in rows]):.0f}"


def _table(
    title: str,
    rows: Sequence[dict[str, Any]],
    down: str,
    across: str,
    cell: Callable[[Sequence[dict[str, Any]]], str] = _error,
) -> list[str]:
    """Lines of a Markdown table, none where there are no rows."""
    if not rows:
        return []
    columns = _values(rows, across)
    heads = [f"{value:,}" if isinstance(value, int) else str(value) for value in columns]
    lines = ["", f"## {title}", "", f"| {down} | {' | '.join(heads)} |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    for value in _values(rows, down):
        cells = []
        for column in columns:
            own = [row for row in rows if row[down] == value and row[across] == column]
            cells.append(cell(own) if own else "")
        lines.append(f"| {value} | {' | '.join(cells)} |")
    return lines


def _values(rows: Iterable[dict[str, Any]], key: str) -> list[Any]:
    """Values of a key, each once: numbers ascending, names as they come."""
    distinct = dict.fromkeys(row[key] for row in rows)
    return list(distinct) if any(isinstance(value, str) for value in distinct) else sorted(distinct)


def draw(rows: Sequence[dict[str, Any]], out: Path) -> None:
    """Draw the figures that there are rows for."""
    parts = {part: [row for row in rows if row["part"] == part] for part in _values(rows, "part")}
    for part, figure in (
        ("error", _draw_error),
        ("error", _draw_spectra),
        ("changes", _draw_changes),
        ("noise", _draw_sweep),
        ("density", _draw_sweep),
    ):
        if parts.get(part):
            axis, file = figure(parts[part])
            plots.save_figure(axis, out / file)


def _panels(count: int, width: float, height: float, columns: int, **options: Any) -> list[Any]:
    from matplotlib.figure import Figure

    columns = min(columns, count)
    lines = -(-count // columns)
    figure = Figure(figsize=(width * columns, height * lines), layout="constrained")
    return list(figure.subplots(lines, columns, squeeze=False, **options).ravel())


def _draw_error(rows: Sequence[dict[str, Any]]) -> tuple[Any, str]:
    variants = [name for name in (PUBLISHED, DEFAULT) if name in _values(rows, "variant")]
    order = list(MANIFOLDS)
    panels = _panels(len(variants), 4.6, 4.8, 2, sharey=True, sharex=True)
    for axis, variant in zip(panels, variants, strict=True):
        own = [row for row in rows if row["variant"] == variant]
        plots.plot_error_against_n(sorted(own, key=lambda row: order.index(row["manifold"])), axis)
        told = ", told the number of factors" if own[0]["told"] else ""
        axis.set_title(f"{variant}{told}", loc="left", fontsize=10)
        if axis is not panels[-1]:
            axis.get_legend().remove()
        else:
            axis.set_ylabel("" if len(panels) > 1 else axis.get_ylabel())
    return panels[0], "error_against_n.png"


def _draw_spectra(rows: Sequence[dict[str, Any]]) -> tuple[Any, str]:
    """The largest default fit of each manifold."""
    largest: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["variant"] == DEFAULT and row["found"]:
            best = largest.get(row["manifold"], row)
            largest[row["manifold"]] = row if row["n"] > best["n"] else best
    panels = _panels(len(largest), 2.9, 2.5, 5)
    for axis, (name, row) in zip(panels, largest.items(), strict=False):
        plots.plot_eigenvalue_spectrum(
            row["eigenvalues"], row["n_parallel"], axis, variation=row["variation"]
        )
        axis.set_title(f"{name}, {row['n']:,} points", loc="left", fontsize=10)
        axis.set(xlabel="", ylabel="")
        if axis is not panels[0] and axis.get_legend() is not None:
            axis.get_legend().remove()
    for axis in panels[len(largest) :]:
        axis.set_visible(False)
    figure = panels[0].figure
    figure.supylabel("eigenvalue", fontsize=10)
    figure.supxlabel("eigenfield (number: variation of its norm, 0 if parallel)", fontsize=10)
    return panels[0], "spectra.png"


def _draw_changes(rows: Sequence[dict[str, Any]]) -> tuple[Any, str]:
    names = _values(rows, "manifold")
    axis = plots.new_axis(7.6, 1.4 + 0.45 * len(names))
    drawn = [variant for variant in VARIANTS if variant in _values(rows, "variant")]
    for j, variant in enumerate(drawn):
        height = np.array([(j - (len(drawn) - 1) / 2) * 0.15] * len(names)) + range(len(names))
        cells = [[r for r in rows if (r["manifold"], r["variant"]) == (m, variant)] for m in names]
        error = np.array([np.median([r["error"] for r in own] or [np.nan]) for own in cells])
        right = np.array([np.mean([r["right"] for r in own] or [0]) >= 0.5 for own in cells])
        color, marker = plots.FACTOR_COLORS[j], plots.MARKERS[j]
        axis.plot(error, height, marker, color=color, label=variant, ms=7)
        axis.plot(error[~right], height[~right], "x", color="white", ms=5)
    axis.plot([], [], "x", color="black", ms=5, label="crossed: wrong factors")
    for stripe in range(0, len(names), 2):
        axis.axhspan(stripe - 0.5, stripe + 0.5, color="#f3f3f3", linewidth=0, zorder=-1)
    axis.set_ylim(-0.5, len(names) - 0.5)
    axis.set_yticks(range(len(names)), names)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.grid(axis="x", color="#e0e0e0", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_xlabel("mean angle to the true factors (radians)")
    axis.set_title(f"{rows[0]['n']:,} points, number of factors given", loc="left", fontsize=10)
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return axis, "changes.png"


def _draw_sweep(rows: Sequence[dict[str, Any]]) -> tuple[Any, str]:
    part = rows[0]["part"]
    lines = [{**row, "line": f"{row['manifold']}, {row['variant']}"} for row in rows]
    axis = plots.plot_error_against_n(lines, x=part, by="line")
    axis.set_title(f"{rows[0]['n']:,} points", loc="left", fontsize=10)
    if part == "noise":
        # A unit S^2 turns by as much as noise moves the point along it: a Rayleigh law.
        sigma = np.array([value for value in _values(rows, part) if value > 0])
        label = "displaced points, on unit S²: σ √(π/2)"
        axis.plot(sigma, sigma * np.sqrt(np.pi / 2), ":", color="black", lw=1, label=label)
        axis.set_xlabel("standard deviation σ of the noise")
        axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    else:
        axis.set_xlabel("concentration κ of the density (0: even)")
    return axis, f"{part}.png"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a preset; 130 after Ctrl-C."""
    return main_of(
        __doc__,
        PRESETS,
        OUT,
        lambda preset, out: run(PRESETS[preset], out, name=preset)[1],
        arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
