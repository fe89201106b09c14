"""What a run is: another value is refused by name, longer runs equal runs at once."""

import dataclasses

import numpy as np
import pytest
import torch

from geodis import models
from geodis.base.check import InputError
from geodis.base.safetensors_files import read_tensors
from geodis.models import (
    AAE,
    ISAVAE,
    VAE,
    AdaTVAE,
    AnnealedVAE,
    FactorVAE,
    MetricEncoder,
    TrainOptions,
)
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
            r"schedule of capacity = 0.0 to 25.0, curve .*; got 0.0 to 3.0, curve",
        ),
        (
            {"schedules": {"capacity": lambda part: 25 * part**2}},
            r"schedule of capacity = 0.0 to 25.0, curve \w+; got 0.0 to 25.0, curve",
        ),
        (
            {"schedules": {"gamma": (1.0, None)}},
            r"schedule of gamma = None; got 1.0 to 1000.0, curve",
        ),
        ({"horizon": 4}, r"horizon = 3; got 4"),
        ({"precision": "bfloat16"}, "precision = float32; got bfloat16"),
        ({"random_state": 1}, "random_state = 0; got 1"),
        ({"version": "2"}, "version = 0; got 2"),
        ({"batch_size": 9}, "batch_size = 8; got 9"),
        ({"data": ROWS + 1e-6}, "on other data: name another folder"),
        ({"data": ROWS[:39]}, "rows = 40; got 39"),
        (
            {"model": AnnealedVAE((4,), 2, random_state=1)},
            "from other initial weights, as of another random_state of the model, or of modules of "
            "your own that were built without torch.manual_seed: name another",
        ),
        ({"model": AnnealedVAE((4,), 2, network="mlp")}, "network = vector; got mlp"),
        ({"model": AnnealedVAE((4,), 2, normalise="mean")}, "normalise = sum; got mean"),
        ({"model": AnnealedVAE((4,), 2, cut_decoder=True)}, "cut_decoder = None; got True"),
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


def test_a_horizon_that_was_named_is_named_again(tmp_path):
    run(tmp_path, 3, horizon=5)
    with pytest.raises(InputError, match="horizon = 5; got none, which stands for 9 steps: pass"):
        run(tmp_path, 9, horizon=None)
    run(tmp_path, 5, horizon=None)  # as many steps
    with pytest.raises(InputError, match="horizon = 5; got none, which stands for 9 steps: pass"):
        run(tmp_path, 9, horizon=None)
    assert run(tmp_path, 9, horizon=5).steps == 9


def falls_at(part):
    return {"schedules": {"capacity": lambda done: 25.0 if done < part else 1.0}, "horizon": 1000}


def test_a_schedule_is_looked_at_at_every_step(tmp_path):
    run(tmp_path, **falls_at(0.501))
    with pytest.raises(InputError, match=r"schedule of capacity = 25.0 to 1.0, curve \w+; got 25"):
        run(tmp_path, 4, **falls_at(0.509))
    assert run(tmp_path, 4, **falls_at(0.501)).steps == 4


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
    in_it |= {"schedules", "horizon", "precision", "version"}
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
