"""Run every benchmark, one after the other."""

from benchmarks import geomancer, images, neighbors, rendering

for module in (neighbors, geomancer, images, rendering):
    print(f"{module.__name__}: {(module.__doc__ or '').strip()}", flush=True)
    module.main()
