"""Run every benchmark, one after the other."""

from benchmarks import (
    confidence,
    distances,
    flat_accuracy,
    flat_split,
    geomancer,
    images,
    kernels,
    models,
    neighbors,
    rendering,
    score_goldens,
    score_table,
    scores,
    zoo,
)

for module in (
    neighbors,
    geomancer,
    flat_split,
    flat_accuracy,
    confidence,
    distances,
    images,
    kernels,
    models,
    rendering,
    score_goldens,
    score_table,
    scores,
):
    print(f"{module.__name__}: {(module.__doc__ or '').strip()}", flush=True)
    module.main()
print(f"{zoo.__name__}: {(zoo.__doc__ or '').strip()}", flush=True)
zoo.main(["--fresh", "--jobs", "2"])
