"""Run every benchmark, one after the other."""

from benchmarks import (
    confidence,
    distances,
    flat_accuracy,
    flat_split,
    geomancer,
    images,
    kernels,
    many_models,
    maps,
    metamorphic,
    models,
    mutated_files,
    names,
    neighbors,
    product_test,
    rendering,
    scale,
    score_goldens,
    score_table,
    scores,
    sweeps,
    walks,
    zoo,
)

for module in (
    neighbors,
    geomancer,
    flat_split,
    flat_accuracy,
    confidence,
    product_test,
    distances,
    images,
    kernels,
    maps,
    models,
    rendering,
    names,
    score_goldens,
    score_table,
    scores,
    metamorphic,
    many_models,
    mutated_files,
    sweeps,
    walks,
    scale,
):
    print(f"{module.__name__}: {(module.__doc__ or '').strip()}", flush=True)
    module.main()
print(f"{zoo.__name__}: {(zoo.__doc__ or '').strip()}", flush=True)
zoo.main(["--fresh", "--jobs", "2"])
