"""What the tests of scores that fix a factor share: reference files, and random factors."""

import numpy as np
import pytest

from tests import GOLDEN
from tests.reference import intervention_and_unsupervised as slow

EXPECTED = GOLDEN / "disentanglement_lib"
FILES = sorted(EXPECTED.glob("betavae_factorvae_s*.npz"))
SMALL = {"n_train": 400, "n_eval": 400, "batch_size": 16}


def sample(seed, n=600, sizes=(3, 4, 5)):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(size, size=n) for size in sizes]), rng


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.stem[-2:])
def golden(request):
    with np.load(request.param, allow_pickle=False) as file:
        data = dict(file)
    book = slow.Codebook(data["codebook"], data["factor_sizes"])
    sizes = int(data["num_train"]), int(data["num_eval"]), int(data["batch_size"])
    return data, book, sizes
