"""Values of newer scores by public implementations, on the reference latents: a golden file.

Run by hand where copies of the implementations lie, each in a folder of its name, in an
environment with scikit-learn 1.5 (one of them passes an argument that later versions refuse), torch
and pyitlib:

    python -m benchmarks.score_golden_values FOLDER

Only their functions are called, on the latents of tests/golden/disentanglement_lib, and only
values are written: tests/golden/newer_scores/values.npz. `benchmarks.score_goldens` compares.

| folder | version | what is called |
|---|---|---|
| icebeem | 0077f01, 2021-08-31 | mean_corr_coef_np; scikit-learn's CCA as its experiments use it |
| latent_quantization | 9a420a3, 2024-01-17 | compute_infomec |
| laforge | 05d5667, 2020-12-18 | dcimig, jemmig |
| dependent_disentanglement | 8720083, 2025-09-10 | estimate_min_suf |
| disentanglement_lib_med | e8db5c7, 2022-09-21 | disentanglement, pick_by_dis_per_factor |
| snc_nk, dl_utils | e031048, 2024-07-03; 09f96e1 | PredictorAligner.accs_from_alignment |
| lsbd | bc725a4, 2022-09-22 | dlsbd |
| dci_es | 9329dae, 2023-08-18 | Explitcitness.get_explitcitness |
| meaningful | 03d89f3, 2023-06-28 | dcii_d, dcii_c, dcii_i; mutual_info_cd of all latents |
"""

from __future__ import annotations

import sys
import types
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"


def load(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as file:
        return dict(file)


def stand_ins() -> None:
    """Names that a peer imports and does not need here: settings and logging."""

    def unchanged(*args: Any, **options: Any) -> Any:
        return args[0] if args and callable(args[0]) and not options else lambda function: function

    library = "disentanglement_lib"
    for name in (
        *("gin", "gin.tf", "absl", "absl.logging", "six", "six.moves", library),
        *(f"{library}.evaluation", f"{library}.evaluation.metrics"),
    ):
        module = types.ModuleType(name)
        module.range = range  # type: ignore[attr-defined]
        module.utils = None  # type: ignore[attr-defined]
        module.configurable = unchanged  # type: ignore[attr-defined]
        module.REQUIRED = None  # type: ignore[attr-defined]
        module.info = print  # type: ignore[attr-defined]
        sys.modules.setdefault(name, module)
    sys.modules["gin"].tf = sys.modules["gin.tf"]  # type: ignore[attr-defined]
    sys.modules["absl"].logging = sys.modules["absl.logging"]  # type: ignore[attr-defined]


def functions(folder: Path) -> dict[str, Any]:
    stand_ins()
    for name in ("icebeem", "latent_quantization", "laforge/src", "dependent_disentanglement"):
        sys.path.insert(0, str(folder / name))
    found: dict[str, Any] = {"mcc": import_module("metrics.mcc").mean_corr_coef_np}
    for name in [name for name in sys.modules if name.split(".")[0] == "metrics"]:
        del sys.modules[name]
    sys.path.remove(str(folder / "icebeem"))
    for name in ("dcimig", "jemmig"):
        found[name] = getattr(import_module(f"metrics.{name}"), name)
    for name, path in (
        ("infomec", "latent_quantization/disentangle/metrics/infomec.py"),
        ("min_suf", "dependent_disentanglement/src/metrics/min_suf.py"),
        ("med", "disentanglement_lib_med/disentanglement_lib/evaluation/metrics/med.py"),
        ("lsbd", "lsbd/lsbd_vae/metrics/dlsbd_metric.py"),
        ("dci_es", "dci_es/metrics/explitcitness.py"),
    ):
        found[name] = from_file(folder / path)
    for path in ("snc_nk", "dl_utils/src"):
        sys.path.insert(0, str(folder / path))
    del sys.modules["utils"]  # the peers have one each
    found["snc"] = import_module("snc_nk").PredictorAligner
    found |= of_meaningful(folder / "meaningful" / "disentangling")
    return found


def of_meaningful(folder: Path) -> dict[str, Any]:
    """The functions of DCII, as EDI was called, without the datasets and networks beside them."""
    for name, path in (
        ("disentangling", folder),
        ("disentangling.utils", folder / "utils"),
        ("disentangling.metrics", folder / "metrics"),
    ):
        module = types.ModuleType(name)
        module.__path__ = [str(path)]
        sys.modules[name] = module
    return {
        "dcii": import_module("disentangling.metrics.dcii"),
        "cached": import_module("disentangling.utils.mi.mi").get_mutual_info.cache,
        "joint": import_module("disentangling.utils.mi.ksg_estimator").estimate_mutual_info,
    }


def exclusivity_values(peers: dict[str, Any], z: np.ndarray, v: np.ndarray) -> dict[str, Any]:
    """EDI by counts in 30 bins, with two estimates of what latents know together."""
    values: dict[str, Any] = {}
    for joint in ("max", "sum"):
        for part in "dci":
            peers["cached"].clear()  # keyed by the last rows alone
            score = getattr(peers["dcii"], f"dcii_{part}")
            options = {"estimator": "bins", "estimate_mi_codes_and_factor_by": joint}
            values[f"edi_{joint}_{part}"] = score(v, z, discrete_factors=True, **options)
    np.random.seed(0)
    values["edi_joint"] = np.array([peers["joint"](z, one, discrete_y=True) for one in v.T])
    return values


def from_file(path: Path) -> Any:
    """Run a file as a module of its own."""
    module = types.ModuleType(path.stem)
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    return module


def values_of(peers: dict[str, Any], data: dict[str, Any]) -> dict[str, float]:
    """All scores of one file; rows are split as there, the first to learn from."""
    from sklearn.cross_decomposition import CCA

    z, v = data["latents"].astype(float), data["factors"].astype(int)
    n_train = int(data["n_train"])
    values: dict[str, float] = {}
    alive = bool((np.ptp(z, axis=0) > 0).all())
    if alive:
        for method in ("pearson", "spearman"):
            values[f"mcc_{method}"] = peers["mcc"](z, v, method=method)
        parts = min(z.shape[1], v.shape[1])
        model = CCA(n_components=parts, max_iter=20_000, tol=1e-12).fit(z[:n_train], v[:n_train])
        values["weak_mcc_cca"] = peers["mcc"](*model.transform(z[n_train:], v[n_train:]), "pearson")
        values["minimality"], values["sufficiency"] = peers["min_suf"].estimate_min_suf(v, z)
        for name in ("dcimig", "jemmig"):
            values[name] = float(peers[name](v, z, continuous_factors=False, nb_bins=20))
        shares = data["mutual_info"] / data["mutual_info"].sum(axis=0)
        values["med"] = peers["med"].disentanglement(shares)
        chosen = peers["med"].pick_by_dis_per_factor(shares, 1)
        values["med_top"] = peers["med"].disentanglement(shares[chosen])
    infomec = peers["infomec"].compute_infomec(v, z, discrete_latents=False)
    values |= {name: infomec[name] for name in ("infom", "infoe", "infoc")}
    aligner = peers["snc"]("any", "any", "normal", max_epochs=1)
    aligner.set_data(z[:n_train], v[:n_train], z[n_train:], v[n_train:])
    try:
        aligner.set_cost_mat(aligner.latents, aligner.gts)
        from dl_utils.label_funcs import get_trans_dict_from_cost_mat

        aligner.trans_dict = get_trans_dict_from_cost_mat(aligner.cost_mat)
        right = aligner.accs_from_alignment(is_single_neurons=True, is_mlp="none")[1]
        values["snc"] = float(np.mean([part.mean() for part in right]))
    except Exception as problem:
        print("snc:", type(problem).__name__, problem)
    return {name: float(value) for name, value in values.items()}


def turning_codes() -> dict[str, np.ndarray]:
    """Codes (angles, angles, z) of two cyclic factors, from perfect to random."""
    rng = np.random.default_rng(0)
    a, b = np.meshgrid(2 * np.pi * np.arange(12) / 12, 2 * np.pi * np.arange(9) / 9, indexing="ij")
    torus = np.stack([np.cos(a), np.sin(a), np.cos(2 * b), np.sin(2 * b)], axis=-1)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    return {
        "torus": torus,
        "turned": torus @ turn,
        "noisy": torus + 0.3 * rng.standard_normal(torus.shape),
        "uneven": np.stack(
            [np.cos(a + 0.4 * np.sin(a)), np.sin(a), 2 * np.cos(b), np.sin(b + a / 3)], axis=-1
        ),
        "random": rng.standard_normal((12, 9, 5)),
    }


def capacity_curves() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Losses by capacity: at once perfect, slow, never."""
    at = np.arange(1.0, 9.0)
    return {
        "at_once": (at, np.r_[0.1, np.full(7, 0.0)]),
        "slow": (at, np.exp(-0.5 * at)),
        "never": (at, np.full(8, 0.9)),
        "bumpy": (at, np.array([0.8, 0.85, 0.5, 0.6, 0.2, 0.25, 0.1, 0.12])),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    peers = functions(Path(sys.argv[1]))
    written: dict[str, Any] = {}
    for path in sorted((GOLDEN / "disentanglement_lib").glob("latents_s*.npz")):
        data = load(path)
        values: dict[str, Any] = dict(values_of(peers, data))
        values |= exclusivity_values(peers, data["latents"].astype(float), data["factors"])
        print(path.stem, {name: np.round(value, 4) for name, value in values.items()}, flush=True)
        written |= {f"{path.stem}_{name}": value for name, value in values.items()}
    combinations = peers["lsbd"].create_combinations_omega_values_range(-10, 10, 2)
    for name, code in turning_codes().items():
        score, turns = peers["lsbd"].dlsbd(code, combinations)
        written |= {f"lsbd_{name}_code": code, f"lsbd_{name}": score, f"lsbd_{name}_turns": turns}
        print(name, score, turns)
    for name, (at, losses) in capacity_curves().items():
        measure = peers["dci_es"].Explitcitness()
        measure.add_curve(at, losses.copy(), baseline_loss=1.0, name=name)
        value = measure.get_explitcitness()[name]
        written |= {f"es_{name}_at": at, f"es_{name}_losses": losses, f"es_{name}": value}
        print(name, value)
    folder = GOLDEN / "newer_scores"
    folder.mkdir(exist_ok=True)
    np.savez_compressed(folder / "values.npz", **written)


if __name__ == "__main__":
    main()
