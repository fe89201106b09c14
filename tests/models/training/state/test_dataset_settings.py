"""Settings of Datasets and samplers: what they were given, and not what they count or keep."""

import numpy as np
import torch
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    Sampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

from geodis.models.training.state.dataset_settings import dataset_settings


class Crops(Dataset):
    """Counts how often it was asked, and keeps what it gave."""

    def __init__(self, size=3, folder="/data/images", mode="nearest"):
        self.size, self.folder, self.mode, self.around = size, folder, mode, (1, 2)
        self.asked, self.kept, self.given = 0, {}, [0] * 5
        self.rows, self.shift = np.zeros(9), np.float64(0.5)

    def __len__(self):
        return 5

    def __getitem__(self, place):
        self.asked += 1
        self.kept[place] = self.given[place] = 1
        return torch.zeros(self.size)


def test_numbers_and_words_that_a_dataset_was_given_count():
    told = dataset_settings(Crops())
    code = told.pop("code")
    assert told == {"size": "3", "mode": "'nearest'", "around": "(1, 2)", "shift": "0.5"}
    assert len(code) == 16 and dataset_settings(TensorDataset(torch.zeros(3))) == {}
    assert dataset_settings(np.zeros(3)) == {}
    long = dataset_settings(Crops(mode="a" * 99))["mode"]
    assert len(long) == 16


def test_what_it_does_at_work_is_no_setting():
    data = Crops()
    before = dataset_settings(data)
    assert len([data[place] for place in range(5)]) == 5
    assert dataset_settings(data) == before


def test_datasets_within_a_dataset_count():
    told = dataset_settings(Subset(Crops(4), [1, 2]))
    assert (told["indices"], told["dataset.size"]) == ("[1, 2]", "4")
    told = dataset_settings(ConcatDataset([Crops(4), Crops(5)]))
    assert (told["datasets.0.size"], told["datasets.1.size"]) == ("4", "5")
    around = Crops()
    around.within = around  # which has no end
    assert dataset_settings(around)["size"] == "3"


class Every(Sampler):
    def __init__(self, step):
        self.step = step

    def __iter__(self):
        return iter(range(0, 5, self.step))


def test_samplers_count():
    def told(**options):
        return dataset_settings(DataLoader(Crops(), 2, **options))

    def weighted(*weights):
        return told(sampler=WeightedRandomSampler(weights, 5))

    assert told()["size"] == "3" and told() != told(shuffle=True)
    assert weighted(1, 1, 1, 1, 1) == weighted(1, 1, 1, 1, 1) != weighted(1, 1, 1, 1, 0)
    assert told(sampler=SubsetRandomSampler([0, 1]))["sampler.indices"] == "[0, 1]"
    assert told(sampler=Every(2))["sampler.step"] == "2"
    of = [told(shuffle=True, generator=torch.Generator().manual_seed(seed)) for seed in (0, 1)]
    assert of[0]["sampler.generator"] == "seed 0" and of[0] != of[1]
