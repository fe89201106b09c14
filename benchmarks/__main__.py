"""Run every benchmark, one after the other."""

from benchmarks import geomancer, neighbors

for module in (neighbors, geomancer):
    print(f"{module.__name__}: {(module.__doc__ or '').strip()}", flush=True)
    module.main()
