"""Code and data of one's own are part of a run: others are refused by name."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    TensorDataset,
    WeightedRandomSampler,
)

from geodis import FactorGrid, models
from geodis.base.check import InputError
from geodis.base.safetensors_files import read_tensors
from geodis.models import VAE, FactorVAE, TrainOptions
from geodis.models.training.run_identity import package_versions
from tests.options import flat

train = flat(models.train, TrainOptions)
ROWS = torch.rand(40, 4, generator=torch.Generator().manual_seed(0))


def run(folder, steps=3, model=None, data=ROWS, **options):
    model = VAE((4,), 2) if model is None else model
    settings = {"batch_size": 8, "verbose": 0, "horizon": 3, **options}
    return train(model, data, steps, checkpoint=folder, **settings)


class Rows(Dataset):
    """Rows of a tensor, changed at random if asked to."""

    def __init__(self, rows, noise=0.0):
        self.rows, self.noise = rows, noise

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, place):
        return self.rows[place] + self.noise * torch.rand(4)


class Blur(nn.Module):
    """A loss with a structure, a setting that does not print, and a tensor."""

    def __init__(self, layer=nn.ReLU, power=2, width=1.0):
        super().__init__()
        self.layer, self.power = layer(), power
        self.register_buffer("width", torch.tensor(width))

    def forward(self, x, y):
        return self.width * self.layer(x - y).abs().pow(self.power).flatten(1).mean(1)


class Wide(nn.Module):
    """A prior without a configuration."""

    def __init__(self, width):
        super().__init__()
        self.width = width

    def log_prob(self, z):
        return -0.5 * (z / self.width).square().sum(-1)


def built(activation):
    class Mine(VAE):
        def _build(self, latents):
            super()._build(latents)
            self.body = nn.Sequential(self.body, activation())

    return Mine((4,), 2)


def stacked(*sizes, activation):
    """The same weights whatever lies between them."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(sizes[0], sizes[1]), activation())


def grid(rows):
    """A grid of 1,000 images, of which so many are not black."""
    images = np.zeros((1000, 2, 2), np.uint8)
    images[rows] = 200
    return FactorGrid.from_arrays(images, np.stack(np.unravel_index(np.arange(1000), (10, 100)), 1))


def of_loss(loss):
    return {"model": VAE((4,), 2, loss=loss)}


def absolute(x, y):
    return (x - y).abs().flatten(1).mean(1)


def squared(x, y):
    return (x - y).square().flatten(1).mean(1)


class Streamed(IterableDataset):
    """Rows that can only be iterated."""

    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        yield from self.rows


LOADED = TensorDataset(ROWS)
OTHER_ROWS = torch.rand(40, 4, generator=torch.Generator().manual_seed(7))
DATA, LOSS = "on other data", "with another loss of your own"
OTHERS = {
    "tensors": ({"data": LOADED}, {"data": TensorDataset(ROWS + 1e-6)}, DATA),
    "rows": ({"data": Rows(ROWS)}, {"data": Rows(ROWS + 1e-6)}, DATA),
    "rows at random": (
        {"data": Rows(ROWS, noise=0.1)},
        {"data": Rows(OTHER_ROWS, noise=0.1)},
        DATA,
    ),
    "noise": ({"data": Rows(ROWS, noise=0.1)}, {"data": Rows(ROWS, noise=5.0)}, DATA),
    "stream": ({"data": Streamed(ROWS)}, {"data": Streamed(OTHER_ROWS)}, DATA),
    "loader": (
        {"data": DataLoader(LOADED, 8)},
        {"data": DataLoader(TensorDataset(ROWS + 1e-6), 8)},
        DATA,
    ),
    "batches": ({"data": DataLoader(LOADED, 8)}, {"data": DataLoader(LOADED, 9)}, DATA),
    "order": ({"data": DataLoader(LOADED, 8)}, {"data": DataLoader(LOADED, 8, shuffle=True)}, DATA),
    "last batch": (
        {"data": DataLoader(LOADED, 8)},
        {"data": DataLoader(LOADED, 8, drop_last=True)},
        DATA,
    ),
    "grid": (
        {"data": grid([]), "model": lambda: VAE((1, 2, 2), 2)},
        {"data": grid([1, 998]), "model": lambda: VAE((1, 2, 2), 2)},
        DATA,
    ),
    "loss": (of_loss(absolute), of_loss(squared), LOSS),
    "layer of a loss": (of_loss(Blur()), of_loss(Blur(nn.Tanh)), LOSS),
    "setting of a loss": (of_loss(Blur()), of_loss(Blur(power=1)), LOSS),
    "tensor of a loss": (of_loss(Blur()), of_loss(Blur(width=2.0)), "from other initial weights.*"),
    "weights of a sampler": (
        {"data": DataLoader(LOADED, 8, sampler=WeightedRandomSampler([1.0] * 40, 40))},
        {"data": DataLoader(LOADED, 8, sampler=WeightedRandomSampler([9.0, *[1.0] * 39], 40))},
        DATA,
    ),
    "encoder": (
        {"model": lambda: VAE((4,), 2, encoder=stacked(4, 8, activation=nn.ReLU))},
        {"model": lambda: VAE((4,), 2, encoder=stacked(4, 8, activation=nn.Tanh))},
        "with another encoder of your own",
    ),
    "decoder": (
        {"model": lambda: VAE((4,), 2, decoder=stacked(2, 4, activation=nn.ReLU))},
        {"model": lambda: VAE((4,), 2, decoder=stacked(2, 4, activation=nn.Tanh))},
        "with another decoder of your own",
    ),
    "prior": (
        {"model": lambda: VAE((4,), 2, prior=Wide(1.0))},
        {"model": lambda: VAE((4,), 2, prior=Wide(2.0))},
        "with another prior of your own",
    ),
    "what a class builds": (
        {"model": lambda: built(nn.ReLU)},
        {"model": lambda: built(nn.Tanh)},
        "with another class of your own",
    ),
}


def anew(options):
    """Options with a model as it is built."""
    model = options.get("model", lambda: VAE((4,), 2))
    return {**options, "model": model() if not isinstance(model, nn.Module) else model}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_code_and_data_of_ones_own_are_refused_by_name(kind, tmp_path):
    one, other, message = OTHERS[kind]
    run(tmp_path, **anew(one))
    with pytest.raises(InputError, match=f"was trained {message}: name another folder"):
        run(tmp_path, 4, **anew(other))
    assert run(tmp_path, 4, **anew(one)).steps == 4


def test_other_code_under_the_same_name_needs_another_version(tmp_path):
    losses = [lambda x, y: absolute(x, y), lambda x, y: squared(x, y)]
    run(tmp_path, **of_loss(losses[0]))
    assert run(tmp_path, 4, **of_loss(losses[1])).steps == 4  # its source is not read
    for version in ("squared", 1):
        with pytest.raises(InputError, match=f"with version = 0; got {version}: a run goes on"):
            run(tmp_path, 5, **of_loss(losses[1]), version=version)
    with pytest.raises(InputError, match=r"version must be a number or a text; got \[\]"):
        TrainOptions(version=[])


def test_a_class_gives_its_own_version_as_its_revision(tmp_path):
    def model(revision):
        class Mine(VAE):
            pass

        Mine.revision = revision
        return Mine((4,), 2)

    run(tmp_path, model=model(0))
    with pytest.raises(InputError, match="with another revision of its class of model"):
        run(tmp_path, 4, model(1))
    assert run(tmp_path, 4, model(0)).steps == 4


def test_a_finished_run_is_not_run_again(tmp_path):
    first = VAE((4,), 2)
    run(tmp_path, model=first)
    again = VAE((4,), 2)
    called: list[str] = []
    done = run(tmp_path, model=again, callbacks={"seen": called.append}, callback_every=1)
    assert done.steps == 3 and len(called) <= 1  # at the end, where they may be new
    for name, value in first.state_dict().items():
        assert torch.equal(again.state_dict()[name], value), name


@pytest.mark.parametrize("package", ["geodis", "torch", "numpy"])
def test_other_versions_of_packages_are_refused_by_name(package, tmp_path, monkeypatch):
    run(tmp_path)
    now = {**package_versions(), f"{package} version": "99"}
    monkeypatch.setattr("geodis.models.training.run_identity.package_versions", lambda: now)
    with pytest.raises(InputError, match=f"with {package} version = .*; got 99: a run goes on"):
        run(tmp_path, 4)


def test_a_class_of_ones_own_is_none_of_geodis(tmp_path):
    class VAE(models.VAE):
        pass

    run(tmp_path, model=VAE((4,), 2))
    with pytest.raises(InputError, match="with another class of your own: name another"):
        run(tmp_path, 4, models.VAE((4,), 2))


def test_a_run_with_nothing_of_its_own_has_no_keys_of_it(tmp_path):
    run(tmp_path, model=FactorVAE((4,), 2, discriminator_width=9))
    begun = read_tensors(tmp_path / "checkpoint.safetensors")[1]["run"]
    assert not [key for key in begun if key.startswith("own_")]


@pytest.mark.parametrize("loader", [False, True])
def test_what_is_changed_at_random_goes_on(loader, tmp_path):
    def data():
        rows = Rows(ROWS, noise=0.1)
        return DataLoader(rows, 8, shuffle=True) if loader else rows

    run(tmp_path, data=data())
    assert run(tmp_path, 5, data=data()).steps == 5


def test_probing_a_dataset_leaves_the_users_random_numbers(tmp_path):
    before = torch.random.get_rng_state()
    run(tmp_path, data=Rows(ROWS, noise=0.1))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_loss_that_counts_its_calls_goes_on_with_the_same_model(tmp_path):
    class Counting(Blur):
        calls = 0

        def forward(self, x, y):
            self.calls += 1
            return super().forward(x, y)

    model = VAE((4,), 2, loss=Counting(nn.Identity))
    run(tmp_path, model=model)
    assert run(tmp_path, 5, model).steps == 5


PROGRAM = """
import sys
import torch
from torch import nn
from geodis.models import VAE, train

SCALE = 2.0


def helper(x):
    return SCALE * x  # COMMENT


def loss(x, y):
    \"\"\"COMMENT.\"\"\"
    return helper(x - y).abs().flatten(1).mean(1)


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, place):
        return torch.full((4,), place / 40)


class Squeezed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 8)

    def forward(self, x):
        return self.layer(x).tanh()


class Mine(VAE):
    \"\"\"COMMENT.\"\"\"

    names = {"a", "b", "c"}

    def decode(self, z):
        return super().decode(z) / 2


torch.manual_seed(0)
model = Mine((4,), 2, loss=loss, encoder=Squeezed())
done = train(model, Rows(), int(sys.argv[1]), batch_size=8, checkpoint=sys.argv[2], verbose=0)
print(done.steps, done.identity)
"""


@pytest.mark.long
def test_the_same_code_goes_on_in_another_process(tmp_path):
    said = []
    for steps, comment in [("3", "One"), ("5", "Another, of\n# two lines")]:
        file = tmp_path / f"program_{steps}.py"
        file.write_text(PROGRAM.replace("# COMMENT", f"# {comment}").replace("COMMENT", steps))
        done = subprocess.run(
            [sys.executable, str(file), steps, str(tmp_path / "run")],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": steps, "OMP_NUM_THREADS": "1"},
        )
        said.append(done.stdout.split())
    assert [steps for steps, _ in said] == ["3", "5"] and said[0][1] == said[1][1]
