"""What a run is: another value is refused by name, longer runs equal runs at once."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from geodis import FactorGrid, models
from geodis.base.check import InputError
from geodis.base.tensors import read_tensors
from geodis.models import (
    AAE,
    ISAVAE,
    VAE,
    AdaTVAE,
    AnnealedVAE,
    FactorVAE,
    MetricEncoder,
    TrainOptions,
    objectives,
)
from geodis.models.training.state.checkpoints import write_state
from tests.options import flat

train = flat(models.train, TrainOptions)
ROWS = torch.rand(40, 4, generator=torch.Generator().manual_seed(0))


def run(folder, steps=3, model=None, data=ROWS, **options):
    model = AnnealedVAE((4,), 2) if model is None else model
    settings = {"batch_size": 8, "verbose": 0, "horizon": 3, **options}
    return train(model, data, steps, checkpoint=folder, **settings)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learning_rate": 2e-3}, r"learning_rate = 0.001; got 0.002: .* name another folder"),
        (
            {"schedules": {"capacity": (0.0, 3.0)}},
            r"schedules of capacity = 0.0 to 25.0, curve .*; got 0.0 to 3.0, curve",
        ),
        (
            {"schedules": {"capacity": lambda part: 25 * part**2}},
            r"schedules of capacity = 0.0 to 25.0, curve \w+; got 0.0 to 25.0, curve",
        ),
        (
            {"schedules": {"gamma": (1.0, None)}},
            r"schedules of gamma = None; got 1.0 to 100.0, curve",
        ),
        ({"horizon": 4}, r"horizon = 3; got 4"),
        ({"precision": "bfloat16"}, "precision = float32; got bfloat16"),
        ({"random_state": 1}, "random_state = 0; got 1"),
        ({"batch_size": 9}, "batch_size = 8; got 9"),
        ({"data": ROWS + 1e-6}, "on other data: name another folder"),
        ({"data": ROWS[:39]}, "rows = 40; got 39"),
        (
            {"model": AnnealedVAE((4,), 2, random_state=1)},
            "from other initial weights, as of another random_state of the model: name another",
        ),
        ({"model": AnnealedVAE((4,), 2, capacity=8.0)}, "capacity = 25.0; got 8.0"),
        ({"steps": 2}, r"has had 3 steps already; got steps = 2: ask for as many or more"),
    ],
)
def test_another_value_is_refused_by_its_name(options, message, tmp_path):
    run(tmp_path)
    with pytest.raises(InputError, match=message):
        run(tmp_path, **{"steps": 4, **options})
    assert read_tensors(tmp_path / "checkpoint.safetensors")[1]["steps"] == 3


def test_the_rate_of_the_adversary_counts_where_there_is_one(tmp_path):
    run(tmp_path / "vae", model=VAE((4,), 2))
    assert run(tmp_path / "vae", 4, VAE((4,), 2), adversary_learning_rate=1e-3).steps == 4
    run(tmp_path / "factor", model=AAE((4,), 2, discriminator_width=9))
    with pytest.raises(InputError, match=r"adversary_learning_rate = 0.0001; got 0.001"):
        run(
            tmp_path / "factor",
            4,
            AAE((4,), 2, discriminator_width=9),
            adversary_learning_rate=1e-3,
        )


def test_the_rate_of_the_prior_counts_where_it_learns(tmp_path):
    def learning():
        return ISAVAE((4,), subspaces=[(2.0, 2)], learn="all")

    run(tmp_path / "isa", model=learning())
    with pytest.raises(InputError, match=r"prior_learning_rate = 0.0005; got 0.001"):
        run(tmp_path / "isa", 4, learning(), prior_learning_rate=1e-3)
    run(tmp_path / "vae", model=VAE((4,), 2))
    assert run(tmp_path / "vae", 4, VAE((4,), 2), prior_learning_rate=1e-3).steps == 4


def test_the_order_of_triplets_counts_where_there_are_triplets(tmp_path, blobs):
    run(tmp_path, model=AdaTVAE(blobs, 2, network="vector"), data=blobs)
    with pytest.raises(InputError, match="supervision = scaled; got factors"):
        run(tmp_path, 4, AdaTVAE(blobs, 2, network="vector"), data=blobs, supervision="factors")


@pytest.mark.parametrize("kind", ["MetricEncoder", "AnnealedVAE", "FactorVAE"])
@pytest.mark.parametrize(("first", "second"), [(12, 25), (20, 30), (7, 25)])
def test_longer_in_two_calls_is_as_long_at_once(kind, first, second, tmp_path):
    """Weights and history; schedules run over the same horizon, before and beyond its end."""
    make, data = {
        "MetricEncoder": (lambda: MetricEncoder((4,), 2), (ROWS, ROWS[:, :2])),
        "AnnealedVAE": (lambda: AnnealedVAE((4,), 2), ROWS),
        "FactorVAE": (lambda: FactorVAE((4,), 2, discriminator_width=20), ROWS),
    }[kind]
    options = {"batch_size": 8, "verbose": 0, "horizon": 18, "callback_every": 10}
    options["callbacks"] = {
        "size": lambda model: float(next(model.parameters()).detach().abs().sum())
    }
    at_once, in_two = make(), make()
    wanted = train(at_once, data, second, **options)
    train(in_two, data, first, checkpoint=tmp_path, **options)
    done = train(in_two, data, second, checkpoint=tmp_path, **options)
    for name, value in at_once.state_dict().items():
        torch.testing.assert_close(in_two.state_dict()[name], value, rtol=0, atol=0, msg=name)
    assert done.history == wanted.history


def test_a_run_may_be_planned_longer_than_it_is_trained_at_first(tmp_path):
    at_once, in_two = AnnealedVAE((4,), 2), AnnealedVAE((4,), 2)
    run(tmp_path / "a", 10, at_once, horizon=None)
    run(tmp_path / "b", 4, in_two, horizon=10)
    run(tmp_path / "b", 10, in_two, horizon=None)
    for name, value in at_once.state_dict().items():
        assert torch.equal(in_two.state_dict()[name], value), name


@pytest.mark.parametrize("kind", [AnnealedVAE, VAE])
def test_schedules_over_more_steps_begin_anew_and_others_go_on(kind, tmp_path):
    at_once = kind((4,), 2)
    wanted = run(tmp_path / "a", 15, at_once, horizon=None)
    run(tmp_path / "b", 5, kind((4,), 2), horizon=None)
    in_two = kind((4,), 2)
    done = run(tmp_path / "b", 15, in_two, horizon=None)
    for name, value in at_once.state_dict().items():
        assert torch.equal(in_two.state_dict()[name], value), name
    assert done.history == wanted.history and done.identity == wanted.identity
    assert ("begun anew: schedules over 15 steps" in str(done)) == (kind is AnnealedVAE)


def test_a_trained_model_cannot_begin_anew(tmp_path):
    model = AnnealedVAE((4,), 2)
    run(tmp_path, 3, model, horizon=None)
    with pytest.raises(InputError, match=r"begins anew: build the model anew too, or .*horizon=3"):
        run(tmp_path, 5, model, horizon=None)


def test_schedules_stay_where_they_end():
    seen = []
    options = {
        "callback_every": 1,
        "callbacks": {"see": lambda m: seen.append(m.settings.capacity)},
    }
    train(AnnealedVAE((4,), 2, capacity=8.0), ROWS, 5, horizon=3, verbose=0, **options)
    assert seen == [0, 4, 8, 8, 8]


def test_what_auto_chose_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    images = torch.rand(8, 1, 32, 32, generator=torch.Generator().manual_seed(1))
    options = {"batch_size": 4, "verbose": 0, "checkpoint": tmp_path}
    assert train(VAE((1, 32, 32), 2), images, 1, **options).precision == "bfloat16"
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    assert train(VAE((1, 32, 32), 2), images, 2, **options).precision == "bfloat16"
    with pytest.raises(InputError, match="precision = bfloat16; got float32"):
        train(VAE((1, 32, 32), 2), images, 3, precision="float32", **options)


def test_the_identity_is_that_of_the_run_and_not_of_its_length(tmp_path):
    first = run(tmp_path / "a")
    again, longer = run(tmp_path / "b"), run(tmp_path / "a", 5)
    other = run(tmp_path / "c", model=AnnealedVAE((4,), 2, gamma=99.0))
    assert first.identity == again.identity == longer.identity != other.identity
    assert len(first.identity) == 16
    assert run(tmp_path / "d", random_state=2).identity != first.identity
    without = train(VAE((4,), 2), ROWS, 1, verbose=0)
    assert without.identity == ""


def test_a_model_goes_on_as_it_was_built_or_as_it_was_left(tmp_path):
    model = VAE((4,), 2)
    run(tmp_path, model=model)
    assert run(tmp_path, 4, model).steps == 4  # as it was left
    assert run(tmp_path, 5, VAE((4,), 2)).steps == 5  # as it was built
    with torch.no_grad():
        next(model.parameters()).add_(1.0)
    with pytest.raises(InputError, match="from other initial weights"):
        run(tmp_path, 6, model)


def test_every_option_is_part_of_the_identity_or_changes_no_number():
    """A new option has to be put on one side or the other."""
    in_it = {"adversary_learning_rate", "prior_learning_rate", "supervision", "category"}
    in_it |= {"schedules", "horizon", "precision"}
    beside = {"checkpoint_every", "callbacks", "callback_every", "callback_at"}
    beside |= {"loggers", "stop_when", "rows_on", "prefetch"}
    assert {each.name for each in dataclasses.fields(TrainOptions)} == in_it | beside


def test_callbacks_may_come_at_steps_of_their_own():
    options = {"callbacks": {"one": lambda model: 1.0}, "callback_at": (2, 5)}
    history = train(VAE((4,), 2), ROWS, 7, verbose=0, **options).history
    assert [row["step"] for row in history if "one" in row] == [2, 5, 7]
    with pytest.raises(InputError, match="A step of callback_at must be at least 1; got 0"):
        TrainOptions(callback_at=(0,))
    assert np.isfinite(history[-1]["one"])


# Code and data of one's own


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


def weighed(weight):
    """A class whose text does not say its weight."""

    class Mine(VAE):
        objectives = ((objectives.reconstruction, weight), (objectives.kl, "beta"))

    return Mine((4,), 2)


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


LOADED = TensorDataset(ROWS)
DATA, LOSS = "on other data", "with another loss of your own"
OTHERS = {
    "tensors": ({"data": LOADED}, {"data": TensorDataset(ROWS + 1e-6)}, DATA),
    "rows": ({"data": Rows(ROWS)}, {"data": Rows(ROWS + 1e-6)}, DATA),
    "loader": (
        {"data": DataLoader(LOADED, 8)},
        {"data": DataLoader(TensorDataset(ROWS + 1e-6), 8)},
        DATA,
    ),
    "batches": ({"data": DataLoader(LOADED, 8)}, {"data": DataLoader(LOADED, 9)}, DATA),
    "order": (
        {"data": DataLoader(LOADED, 8)},
        {"data": DataLoader(LOADED, 8, shuffle=True)},
        DATA,
    ),
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
    "lambda": (of_loss(lambda x, y: absolute(x, y)), of_loss(lambda x, y: squared(x, y)), LOSS),
    "layer of a loss": (of_loss(Blur()), of_loss(Blur(nn.Tanh)), LOSS),
    "setting of a loss": (of_loss(Blur()), of_loss(Blur(power=1)), LOSS),
    "tensor of a loss": (of_loss(Blur()), of_loss(Blur(width=2.0)), LOSS),
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
    "class": (
        {"model": lambda: weighed(1.0)},
        {"model": lambda: weighed(50.0)},
        "with other code of your own class",
    ),
    "what a class builds": (
        {"model": lambda: built(nn.ReLU)},
        {"model": lambda: built(nn.Tanh)},
        "with other code of your own class",
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


def test_a_class_of_ones_own_is_none_of_geodis(tmp_path):
    class VAE(models.VAE):
        pass

    run(tmp_path, model=VAE((4,), 2))
    with pytest.raises(InputError, match="with other code of your own class: name another"):
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


@pytest.mark.parametrize(
    ("key", "to", "options", "message"),
    [
        ("own_loss", None, of_loss(absolute), f"{LOSS}: name another folder"),
        ("data", None, {"data": DataLoader(LOADED, 8)}, f"{DATA}: name another folder"),
        ("data", "0", {"data": LOADED}, f"{DATA}: name another folder"),
    ],
)
def test_a_run_of_before_is_refused_in_one_sentence(key, to, options, message, tmp_path):
    run(tmp_path, **options)
    tensors, note = read_tensors(tmp_path / "checkpoint.safetensors")
    note.pop("checksum")
    del note["run"][key]
    begun = {**note["run"], **({} if to is None else {key: to})}
    write_state(tmp_path, tensors, {**note, "run": begun})
    with pytest.raises(InputError, match=message):
        run(tmp_path, 4, **options)


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
