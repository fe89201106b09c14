"""Run every benchmark, one after the other."""

from benchmarks import geomancer, images, neighbors, rendering, score_goldens

for module in (neighbors, geomancer, images, rendering, score_goldens):
    print(f"{module.__name__}: {(module.__doc__ or '').strip()}", flush=True)
    module.main()
