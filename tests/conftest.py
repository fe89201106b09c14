"""What several test files share."""

import os
import sys

import hypothesis
import numpy as np
import pytest

# How long an example takes says how busy the machine is.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


def pytest_collection_modifyitems(config, items):
    """With GEODIS_TESTS=quick the first seed of every test, and none that is marked as long."""
    if os.environ.get("GEODIS_TESTS", "all") != "quick":
        return
    first: dict[tuple[str, str], object] = {}
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        params = dict(getattr(getattr(item, "callspec", None), "params", {}))
        seed = params.pop("seed", None)
        case = item.nodeid.partition("[")[0], repr(sorted(params.items(), key=str))
        later = seed != first.setdefault(case, seed)
        (left if later or item.get_closest_marker("long") else kept).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


@pytest.fixture
def rng():
    return np.random.default_rng(20231)


@pytest.fixture
def geodis(monkeypatch, capsys):
    """The command line, run in this process: arguments -> exit code, output, errors."""
    from geodis import cli

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["geodis", *map(str, arguments)])
        code: object = 0
        try:
            cli.main()
        except SystemExit as stopped:
            code = stopped.code
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def sphere(n, k, rng):
    """Uniform points of S^k, shape (n, k + 1), written without the library."""
    points = rng.standard_normal((n, k + 1))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def bump_times_sphere(n, seed):
    """A gently bent square with a boundary, times S^2."""
    rng = np.random.default_rng(seed)
    square = rng.uniform(-1, 1, (n, 2))
    height = 0.15 * np.exp(-2 * (square**2).sum(axis=1))
    return np.column_stack([square, height, sphere(n, 2, rng)])


def roll_times_sphere(n, seed):
    """One turn of a Swiss roll, 8 x 2, times S^2."""
    rng = np.random.default_rng(seed)
    low, high = 1.5 * np.pi, 3.5 * np.pi
    turn = np.sqrt(low**2 + (high**2 - low**2) * rng.uniform(size=n))
    roll = 0.163 * turn * np.array([np.cos(turn), np.sin(turn)])
    return np.column_stack([*roll, rng.uniform(0, 2, n), sphere(n, 2, rng)])


def warped(spec, n, strength):
    """A product under a nonlinear map of its ambient space, and the images of its tangents."""
    from geodis import product_manifold
    from geodis.manifold.linalg import polar_rows

    sample = product_manifold(spec, n, random_state=0)
    d = sample.points.shape[1]
    mixing = np.random.default_rng(5).standard_normal((d, d)) / np.sqrt(d)
    phase = sample.points @ mixing.T
    points = sample.points + strength * np.sin(phase)
    jacobian = np.eye(d) + strength * np.cos(phase)[:, :, None] * mixing
    return points, [polar_rows(t @ np.swapaxes(jacobian, 1, 2)) for t in sample.tangents]


@pytest.fixture(scope="session")
def client():
    """A Dask cluster of two worker processes on this machine, for all tests that need one."""
    from geodis.base.dask_engine import local_client

    with local_client(2) as opened:
        yield opened
