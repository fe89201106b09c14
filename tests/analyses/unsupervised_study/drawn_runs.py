"""Measured runs whose scores follow the strength by as much as is said."""

import numpy as np
import pandas as pd

from analyses.unsupervised_study.study_measures import (
    DOWNSTREAM,
    PUBLISHED_SCORES,
    TC_SAMPLED,
    UNSUPERVISED,
)
from analyses.unsupervised_study.study_presets import METHODS
from analyses.unsupervised_study.study_sets import SETS


def study_frame(effect, sets=SETS, seeds=4, noise=0.1):
    """Runs whose scores follow the strength by as much as is said."""
    random = np.random.default_rng(0)
    lines = []
    for data in sets:
        for number, method in enumerate(METHODS):
            for place in range(3):
                for seed in range(seeds):
                    quality = effect * (place + number) / 8
                    drawn = quality + noise * random.standard_normal(30)
                    names = [*PUBLISHED_SCORES.values(), *UNSUPERVISED, *DOWNSTREAM]
                    values = dict(zip(names, drawn, strict=False))
                    values |= {"latents in use": 3.0, "run": f"{data}{method}{place}{seed}"}
                    values[TC_SAMPLED] = -place + noise * random.standard_normal()
                    whose = {"method": method, "strength": float(place), "place": place}
                    lines.append({**whose, "data": data, "seed": seed, **values})
    return pd.DataFrame(lines)
