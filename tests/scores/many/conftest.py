"""Scores of many models, made up."""

import numpy as np
import pandas as pd


def models(seed, n=40):
    rng = np.random.default_rng(seed)
    quality = rng.uniform(size=n)
    return pd.DataFrame(
        {
            "mig": quality + 0.05 * rng.standard_normal(n),
            "sap": np.exp(3 * quality),
            "tc": -quality,
            "noise": rng.uniform(size=n),
            "same": np.full(n, 0.5),
        }
    )
