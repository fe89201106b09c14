"""What variational inference, and a heavier divergence, do to components (seed 002, appendix B).

1. Factor analysis, exact: the likelihood does not change when the weights of a maximum turn, the
   free energy does, and is largest where the components are orthogonal, whatever beta is.
2. Over-complete factor analysis, exact: of models with the same likelihood, the free energy prefers
   the one that leaves a component unused.
3. Over-complete independent components, from the true weights on, no step lowering the free energy:
   how far variational inference moves them towards orthogonal ones, and beta = 5 takes one away.
   The published tails, a Student distribution of 3.5 degrees of freedom, mostly lose one with
   beta = 1 already (the published weights and noise are not known); sparser ones keep all three.

Run `python -m analyses.variational_bias --preset quick`; seconds to minutes on one core.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.special import gammaln
from torch import Tensor

from analyses.shared.model_runs import Row, hours_of, run_preset, summarise, table, write_markdown
from analyses.shared.run import main_of
from analyses.variational_bias.bias_claims import bias_lines
from geodis import plots
from geodis.plots import ACCENT, FACTOR_COLORS, FAINT, INK

OUT = Path(__file__).parents[1] / "results" / "variational_bias"

# Factor analysis: a diagonal noise and orthogonal weights of two lengths.
LENGTHS, NOISE = np.array([1.0, 0.6]), 0.05
BETAS = (0.5, 1.0, 2.0, 5.0)
QUARTER, TURNS = np.pi / 2, 181  # rotations of the latents that are compared
# Independent components: heavy tails (B.8), three directions in a plane, and a little noise.
PUBLISHED_FREEDOM, SPARSER, ICA_NOISE = 3.5, 2.2, 0.02
DIRECTIONS = np.deg2rad([15.0, 60.0, 130.0])
# A component whose weights are shorter than this part of the longest is taken as pruned.
PRUNED = 0.1


@dataclass(frozen=True)
class Preset:
    """Points of the experiment on independent components, and its seeds."""

    n_points: int
    seeds: tuple[int, ...]
    iterations: int


PRESETS = {
    "quick": Preset(300, tuple(range(10)), 120),
    "paper": Preset(2000, (0, 1, 2, 3, 4), 2000),
    "tiny-for-tests": Preset(80, (0,), 3),
}


# Factor analysis (B.2): x = W z + noise of variances D, z standard normal


def log_likelihood(weights: np.ndarray, noise: np.ndarray, second: np.ndarray) -> float:
    """Log p(x) a point, for data of second moments `second` (equation after 15)."""
    covariance = weights @ weights.T + np.diag(noise)
    _, log_det = np.linalg.slogdet(2 * np.pi * covariance)
    return float(-0.5 * (log_det + np.trace(np.linalg.solve(covariance, second))))


def free_energy(
    weights: np.ndarray, noise: np.ndarray, second: np.ndarray, beta: float = 1.0
) -> float:
    """E log p(x | z) / beta - KL(q(z) || p(z)) a point, q being the best mean-field normal.

    That is inference in a model in which every point has been seen 1 / beta times (B.1): q has the
    mean and the diagonal precision of the posterior with precision W' D^-1 W / beta + 1.
    """
    gain = weights.T / noise  # W' D^-1
    precision = gain @ weights / beta + np.eye(weights.shape[1])
    recognition = np.linalg.solve(precision, gain) / beta  # mean of z = R x
    variances = 1 / np.diag(precision)
    residual = np.eye(len(weights)) - weights @ recognition
    expected = (
        np.trace(residual.T @ (residual / noise[:, None]) @ second)
        + (np.diag(gain @ weights) * variances).sum()
        + np.log(2 * np.pi * noise).sum()
    )
    spread = np.trace(recognition @ second @ recognition.T)
    divergence = 0.5 * (variances.sum() + spread - len(variances) - np.log(variances).sum())
    return float(-0.5 * expected / beta - divergence)


def rotated(angle: float) -> np.ndarray:
    """Orthogonal weights, the latents turned by an angle: the same likelihood."""
    cos, sin = np.cos(angle), np.sin(angle)
    return np.diag(LENGTHS) @ np.array([[cos, -sin], [sin, cos]])


def overcomplete(share: float) -> np.ndarray:
    """Two latents for the second direction, a share of its variance to the third (equation 17)."""
    return np.array(
        [[LENGTHS[0], 0.0, 0.0], [0.0, LENGTHS[1] * np.sqrt(1 - share**2), LENGTHS[1] * share]]
    )


def factor_analysis(case: Mapping[str, Any]) -> Row:
    """Likelihood and free energy against rotation, or against the share of a third latent."""
    noise = np.full(2, NOISE)
    make = rotated if case["part"] == "rotation" else overcomplete
    turned = case["part"] == "rotation"
    places = np.linspace(0, QUARTER, TURNS) if turned else np.linspace(0, 0.5, 51)
    second = make(0.0) @ make(0.0).T + np.diag(noise)
    energy = [free_energy(make(at), noise, second, case["beta"]) for at in places]
    likelihood = [log_likelihood(make(at), noise, second) for at in places]
    best = float(places[int(np.argmax(energy))])
    return {
        "places": places,
        "energy": energy,
        "likelihood": likelihood,
        # Where the free energy is largest: at 0 and at a quarter turn weights are orthogonal.
        "best": min(best, QUARTER - best) if turned else best,
        "range": max(energy) - min(energy),
        "gap": float(likelihood[0] - max(energy)),
    }


# Independent components (B.7)


def student_data(n: int, freedom: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 2) and the true weights (2, 3)."""
    rng = np.random.default_rng(seed)
    weights = np.stack([np.cos(DIRECTIONS), np.sin(DIRECTIONS)])
    sources = rng.standard_t(freedom, (n, 3))
    return sources @ weights.T + np.sqrt(ICA_NOISE) * rng.standard_normal((n, 2)), weights


def ica_energy(
    x: Tensor,
    weights: Tensor,
    mean: Tensor,
    log_deviation: Tensor,
    beta: float,
    freedom: float,
    quadrature: tuple[Tensor, Tensor],
) -> Tensor:
    """Free energy a point: expected squares are exact, the prior's part is by quadrature."""
    nodes, masses = quadrature
    variance = (2 * log_deviation).exp()
    squares = (x - mean @ weights.T).square().sum(dim=1) + variance @ weights.square().sum(dim=0)
    likelihood = -0.5 * squares / ICA_NOISE - float(np.log(2 * np.pi * ICA_NOISE))
    z = mean[..., None] + log_deviation.exp()[..., None] * nodes
    constant = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - 0.5 * np.log(freedom * np.pi)
    prior = float(constant) - 0.5 * (freedom + 1) * torch.log1p(z.square() / freedom)
    entropy = log_deviation + 0.5 * (float(np.log(2 * np.pi)) + 1)
    return (likelihood / beta + ((prior * masses).sum(dim=2) + entropy).sum(dim=1)).mean()


def independent_components(case: Mapping[str, Any], preset: Preset) -> Row:
    """Fit weights and all q(z_n) together, from the true weights on, every step uphill."""
    points, true = student_data(preset.n_points, case["freedom"], case["seed"])
    x = torch.from_numpy(points)
    freedom, beta = case["freedom"], case["beta"]
    nodes, masses = (torch.from_numpy(part) for part in np.polynomial.hermite_e.hermegauss(40))
    quadrature = nodes, masses / masses.sum()
    weights = torch.from_numpy(true).clone()
    # q begins at the posterior of a normal prior.
    precision = weights.T @ weights / ICA_NOISE + (freedom - 2) / freedom * torch.eye(3)
    mean = ((x @ weights / ICA_NOISE) @ torch.linalg.inv(precision)).requires_grad_()
    spread = (-0.5 * precision.diagonal().log()).expand_as(mean).clone().requires_grad_()

    def energy() -> Tensor:
        return ica_energy(x, weights, mean, spread, beta, freedom, quadrature)

    def improve_q(iterations: int) -> None:
        search = torch.optim.LBFGS(
            [mean, spread], max_iter=iterations, history_size=10, line_search_fn="strong_wolfe"
        )

        def closure() -> Tensor:
            search.zero_grad()
            loss = -len(x) * energy()
            loss.backward()
            return loss

        search.step(closure)

    improve_q(200)  # q for the true weights first
    begun = float(energy().detach())
    for _ in range(preset.iterations):
        with torch.no_grad():  # the best weights for this q; neither half can lower the energy
            squares = mean.T @ mean + torch.diag((2 * spread).exp().sum(dim=0))
            weights = torch.linalg.solve(squares, mean.T @ x).T
        improve_q(20)
    learnt = weights.numpy()
    return {
        "true": true,
        "found": learnt,
        "points": points[:300],
        "energy_of_true": begun,
        "energy": float(energy().detach()),
        "coupling_true": coupling(true),
        "coupling": coupling(learnt),
        "pruned": n_pruned(learnt),
        "angle": widest_angle(learnt),
        "angle_true": widest_angle(true),
    }


def coupling(weights: np.ndarray) -> float:
    """How far from orthogonal columns are: the off-diagonal part of W'W over all of it."""
    gram = weights.T @ weights
    return float(np.linalg.norm(gram - np.diag(np.diag(gram))) / np.linalg.norm(gram))


def n_pruned(weights: np.ndarray) -> int:
    """Components that hardly reach the data."""
    length = np.linalg.norm(weights, axis=0)
    return int((length < PRUNED * length.max()).sum())


def widest_angle(weights: np.ndarray) -> float:
    """Degrees between the two longest components, 90 if they are orthogonal."""
    longest = np.argsort(-np.linalg.norm(weights, axis=0))[:2]
    a, b = weights[:, longest].T
    cosine = abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b)
    return float(np.rad2deg(np.arccos(min(cosine, 1.0))))


def plan(preset: Preset) -> list[Row]:
    """Every case."""
    exact = [{"part": part, "beta": beta} for part in ("rotation", "third") for beta in BETAS]
    return exact + [
        {"part": "components", "freedom": freedom, "beta": beta, "seed": seed}
        for freedom in (SPARSER, PUBLISHED_FREEDOM)
        for beta in (1.0, 5.0)
        for seed in preset.seeds
    ]


def run_case(case: Mapping[str, Any], preset: Preset) -> Row:
    if case["part"] == "components":
        return independent_components(case, preset)
    return factor_analysis(case)


def write(rows: list[Row], out: Path, preset: str) -> None:
    """Tables and the figures."""
    made = f"Preset {preset}: {PRESETS[preset]}. {hours_of(rows)}"
    lines = ["# Biases of variational inference", "", made, ""]
    titles = {
        "rotation": "Factor analysis: rotation of the latents (radians)",
        "third": "Over-complete factor analysis: share of a third latent",
    }
    for part, what in titles.items():
        own = [row for row in rows if row["case"]["part"] == part]
        cells = [
            [
                f"{row['case']['beta']:g}",
                f"{row['best']:.3f}",
                f"{row['range']:.4g}",
                f"{row['gap']:.2g}" if row["case"]["beta"] == 1 else "",
            ]
            for row in own
        ]
        gap = "log likelihood - largest free energy"
        lines += [f"## {what}", "", *table(["beta", "best at", "range of free energy", gap], cells)]
        lines.append("")
    own = [row for row in rows if row["case"]["part"] == "components"]
    columns = [
        "coupling_true",
        "coupling",
        "angle_true",
        "angle",
        "pruned",
        "energy_of_true",
        "energy",
    ]
    header = [
        "degrees of freedom",
        "beta",
        "seeds",
        "coupling, true",
        "found",
        "angle of the two longest (degrees), true",
        "found",
        "pruned",
        "free energy of the true weights",
        "found",
    ]
    lines += [
        "## Independent components",
        "",
        *table(header, summarise(own, ["freedom", "beta"], columns)),
    ]
    lines += ["", *bias_lines(rows, PUBLISHED_FREEDOM, QUARTER / (TURNS - 1))]
    write_markdown(out, lines)
    plots.save_figure(draw_energies(rows), out / "factor_analysis.png")
    if own:
        plots.save_figure(draw_components(own), out / "components.png")


def draw_energies(rows: Sequence[Row]) -> Any:
    axes = plots.new_axes(1, 2, 8.6, 3.4)[0]
    for axis, part, label in [
        (axes[0], "rotation", "rotation of the latents (radians)"),
        (axes[1], "third", "share of the third latent"),
    ]:
        own = [row for row in rows if row["case"]["part"] == part]
        if not own:  # not run yet
            continue
        for j, row in enumerate(own):
            # Free energies of different beta have different constants: drawn below their maximum.
            energy = np.array(row["energy"]) - max(row["energy"])
            axis.plot(
                row["places"],
                energy,
                color=FACTOR_COLORS[j],
                label=f"beta = {row['case']['beta']:g}",
            )
        flat = np.array(own[0]["likelihood"]) - own[0]["likelihood"][0]
        axis.plot(own[0]["places"], flat, "--", color=INK, lw=1, label="log likelihood")
        axis.set_xlabel(label)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("free energy a point, from its maximum")
    handles, labels = axes[0].get_legend_handles_labels()
    axes[1].legend(handles, labels, frameon=False, fontsize=8, loc="lower left")
    return axes[0]


def draw_components(rows: Sequence[Row]) -> Any:
    first = rows[0]["case"]["seed"]
    own = [row for row in rows if row["case"]["seed"] == first]
    axes = plots.new_axes(1, len(own), 3.1 * len(own), 3.3)[0]
    for axis, row in zip(axes, own, strict=True):
        points = np.array(row["points"])
        axis.plot(*points.T, ".", color=FAINT, ms=3, alpha=0.5)
        for key, color, label in [("true", INK, "true"), ("found", ACCENT, "found")]:
            for i, (a, b) in enumerate(np.array(row[key]).T):
                axis.plot(
                    [-4 * a, 4 * a],
                    [-4 * b, 4 * b],
                    color=color,
                    lw=2,
                    label=label if i == 0 else None,
                )
        axis.set_aspect("equal")
        axis.set(xlim=(-7, 7), ylim=(-7, 7))
        case = row["case"]
        title = f"{case['freedom']} degrees of freedom, beta = {case['beta']:g}"
        axis.set_title(title, loc="left", fontsize=9)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=8, loc="upper left")
    return axes[0]


def run(preset: str, out: Path) -> bool:
    torch.set_num_threads(1)
    return run_preset(preset, out, PRESETS, plan, run_case, write)


def main(arguments: Sequence[str] | None = None) -> int:
    return main_of(__doc__, PRESETS, OUT, run, arguments)


if __name__ == "__main__":
    sys.exit(main())
