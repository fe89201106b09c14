"""Stacks: every model as `train` trains it alone, on after any end, and what cannot be stacked."""

import signal

import numpy as np
import pytest
import torch

from geodis import Sprites, models
from geodis.base.check import InputError
from geodis.models import (
    AAE,
    AE,
    DIPVAE,
    ISAVAE,
    VAE,
    AdaGVAE,
    AnnealedVAE,
    BetaTCVAE,
    BetaVAE,
    FactorVAE,
    MetricEncoder,
    TrainOptions,
    encode,
    train,
    train_stacked,
)
from geodis.models.sweeps.stacks import why_alone
from geodis.models.sweeps.sweep_plan import ScoringPlan, plan_runs

ROWS = torch.rand(200, 6, generator=torch.Generator().manual_seed(0))
MAKERS = {
    "AE": lambda i: AE((6,), 3, random_state=i),
    "VAE, mean": lambda i: VAE((6,), 3, random_state=i, normalise="mean", beta=0.01 * (i + 1)),
    "BetaVAE, Bernoulli": lambda i: BetaVAE(
        (6,), 3, random_state=i, loss="bernoulli", beta=i + 1.0
    ),
    "AnnealedVAE": lambda i: AnnealedVAE((6,), 3, random_state=i, gamma=9.0, capacity=2.0 + i),
    "BetaTCVAE": lambda i: BetaTCVAE((6,), 3, random_state=0, beta=1.0 + i),
    "DIPVAE I": lambda i: DIPVAE((6,), 3, random_state=i, diagonal=5.0 + i),
    "DIPVAE II": lambda i: DIPVAE((6,), 3, random_state=i, kind="II"),
    "FactorVAE": lambda i: FactorVAE(
        (6,), 3, random_state=i, gamma=2.0 + i, discriminator_width=20
    ),
    "ISAVAE": lambda i: ISAVAE((6,), subspaces=[(2.2, 2), (1.9, 1)], random_state=i, beta=1.0 + i),
    "ISATCVAE": lambda i: models.ISATCVAE(
        (6,), subspaces=[(2.2, 2), (1.9, 1)], random_state=i, beta=1.0 + i
    ),
    "standardised": lambda i: VAE((6,), 3, random_state=i, standardise=([0.5] * 6, [0.3] * 6)),
}


def difference(one, other, rows):
    """Largest difference of codes over their spread."""
    codes, reference = encode(one, rows), encode(other, rows)
    return np.abs(codes - reference).max() / reference.std()


# Few steps: of some of these a rounding in the weights at the start alone, without a stack, changes
# codes by a tenth of their spread in 100 steps, where a unit wakes a step later.
# As `train` takes for perceptrons; stacks take bfloat16 where they may choose.
FLOAT32 = TrainOptions(precision="float32")


@pytest.mark.parametrize("has", [True, False])
def test_precision_that_is_left_to_a_stack_is_bfloat16_where_the_processor_has_it(monkeypatch, has):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: has)
    done = train_stacked([VAE((6,), 2)], ROWS, 1, verbose=0)
    assert done[0].precision == ("bfloat16" if has else "float32")
    runs = {
        (stack, name): plan_runs(
            [{"model": "vae"}],
            {"a": ""},
            [0],
            {"precision": name},
            ScoringPlan(),
            device="cpu",
            stack=stack,
        )[0]
        for stack in (1, 2)
        for name in ("auto", "float32", "bfloat16")
    }
    chosen = {key: run.training["precision"] for key, run in runs.items()}
    assert chosen[1, "auto"] == "float32" and chosen[2, "auto"] == done[0].precision
    # A run is named by what was chosen, not by how.
    assert runs[2, "auto"].identity == runs[2, done[0].precision].identity
    assert runs[2, "float32"].identity != runs[2, "bfloat16"].identity


@pytest.mark.parametrize("name", MAKERS)
def test_a_stack_trains_every_model_as_train_does(name):
    make, options = MAKERS[name], {"batch_size": 32, "verbose": 0}
    alone, stacked = [make(i) for i in range(3)], [make(i) for i in range(3)]
    wanted = [
        train(model, ROWS, 12, random_state=5 + i, **options) for i, model in enumerate(alone)
    ]
    done = train_stacked(stacked, ROWS, 12, options=FLOAT32, random_states=[5, 6, 7], **options)
    for one, other, history, expected in zip(stacked, alone, done, wanted, strict=True):
        assert difference(one, other, ROWS) < 1e-4
        assert [row.keys() for row in history.history] == [row.keys() for row in expected.history]
        for term, value in expected.history[-1].items():
            assert history.history[-1][term] == pytest.approx(value, rel=1e-3, abs=1e-5), term
        assert not one.training and str(history).startswith("12 steps on cpu in float32")


def test_a_hundred_steps_on_images_are_those_of_train():
    grid = Sprites(image_size=16)
    rows = grid.images(np.arange(0, len(grid), len(grid) // 400))
    for make in (
        lambda i: VAE((1, 16, 16), 6, network="vector", beta=1.0 + i, random_state=i),
        lambda i: BetaTCVAE((1, 16, 16), 6, network="vector", beta=1.0 + i, random_state=i),
    ):
        alone, stacked = [make(i) for i in range(2)], [make(i) for i in range(2)]
        for i, model in enumerate(alone):
            train(model, rows, 100, batch_size=64, random_state=i, verbose=0)
        train_stacked(stacked, rows, 100, batch_size=64, options=FLOAT32, verbose=0)
        for one, other in zip(stacked, alone, strict=True):
            assert difference(one, other, rows) < 1e-4


@pytest.mark.long
def test_isa_tcvaes_differ_no_more_than_by_a_rounding_of_their_weights():
    grid = Sprites(image_size=16)
    rows = grid.images(np.arange(0, len(grid), len(grid) // 400))
    subspaces = [(2.2, 2), (1.9, 2)]

    def make(i, rounding=None):
        model = models.ISATCVAE((1, 16, 16), subspaces=subspaces, network="vector", random_state=i)
        if rounding is not None:
            generator = torch.Generator().manual_seed(rounding)
            with torch.no_grad():
                for each in model.parameters():
                    up = torch.randint(0, 2, each.shape, generator=generator, dtype=torch.bool)
                    each.copy_(torch.where(up, torch.nextafter(each, each + 1), each))
        return model

    def alone(i, rounding=None):
        model = make(i, rounding)
        train(model, rows, 100, batch_size=64, random_state=i, verbose=0)
        return model

    wanted, stacked = [alone(i) for i in range(4)], [make(i) for i in range(4)]
    train_stacked(stacked, rows, 100, batch_size=64, options=FLOAT32, verbose=0)
    apart = [difference(one, other, rows) for one, other in zip(stacked, wanted, strict=True)]
    rounded = [difference(alone(i, j), wanted[i], rows) for i in range(4) for j in range(4)]
    assert np.median(apart) < 1e-4
    assert max(apart) < max(1e-4, 3 * max(rounded))


def test_images_and_their_perceptrons_are_stacked_too(blobs):
    alone = [VAE(blobs, 2, network="mlp", random_state=i) for i in range(2)]
    stacked = [VAE(blobs, 2, network="mlp", random_state=i) for i in range(2)]
    for i, model in enumerate(alone):
        train(model, blobs, 10, batch_size=8, random_state=i, verbose=0)
    train_stacked(stacked, blobs, 10, batch_size=8, options=FLOAT32, verbose=0)
    for one, other in zip(stacked, alone, strict=True):
        np.testing.assert_allclose(encode(one, blobs), encode(other, blobs), atol=2e-4)


def test_schedules_and_callbacks_are_those_of_every_model():
    def make():
        return [AnnealedVAE((6,), 2, capacity=c, random_state=0) for c in (4.0, 8.0)]

    options = TrainOptions(
        precision="float32",
        schedules={"learning_rate": (1e-2, 0.0)},
        callbacks={
            "capacity": lambda model: model.settings.capacity,
            "weight": lambda model: model.decoder[0].weight.detach().sum(),
        },
        callback_at=(3,),
    )
    stacked, alone = make(), make()
    done = train_stacked(
        stacked, ROWS, 5, batch_size=16, options=options, random_states=[1, 1], verbose=0
    )
    for model, own in zip(alone, done, strict=True):
        wanted = train(model, ROWS, 5, batch_size=16, options=options, random_state=1, verbose=0)
        rows, expected = ([r for r in h.history if "weight" in r] for h in (own, wanted))
        assert [row["step"] for row in rows] == [3, 5]
        for row, other in zip(rows, expected, strict=True):
            assert row["capacity"] == other["capacity"]
            assert row["weight"] == pytest.approx(other["weight"], rel=1e-4)


@pytest.mark.parametrize("kind", ["BetaTCVAE", "FactorVAE"])
def test_callbacks_of_a_stack_get_the_terms_of_their_own_model(kind):
    members, seen = [MAKERS[kind](i) for i in range(3)], []
    calls = {"terms": lambda model, terms: seen.append((members.index(model), terms))}
    options = TrainOptions(precision="float32", callbacks=calls, callback_at=(4, 11))
    done = train_stacked(members, ROWS, 13, batch_size=16, options=options, verbose=0)
    assert [(number, each["step"]) for number, each in seen] == [
        (number, step) for step in (3, 10, 12) for number in range(3)
    ]
    for number, terms in seen[3:]:
        rows = [row for row in done[number].history if row["step"] == terms["step"]]
        assert rows == [terms]
    assert len({terms["reconstruction"] for _, terms in seen[:3]}) == 3


@pytest.mark.parametrize("kind", ["BetaTCVAE", "FactorVAE"])
def test_a_stack_that_was_stopped_goes_on_bit_for_bit(kind, tmp_path):
    options = {"batch_size": 16, "verbose": 0}

    def make():
        return [MAKERS[kind](i) for i in range(3)]

    whole, broken = make(), make()
    wanted = train_stacked(whole, ROWS, 15, **options)
    calls = []

    def press(model):
        calls.append(1)
        if len(calls) == 3:  # all of the first call
            signal.raise_signal(signal.SIGINT)

    stopping = TrainOptions(callbacks={"press": press}, callback_every=7)
    with pytest.raises(KeyboardInterrupt):
        train_stacked(broken, ROWS, 15, checkpoint=tmp_path, options=stopping, **options)
    resumed = make()
    done = train_stacked(resumed, ROWS, 15, checkpoint=tmp_path, **options)
    for one, other in zip(resumed, whole, strict=True):
        for name, value in other.state_dict().items():
            assert torch.equal(one.state_dict()[name], value), name
    for each, other in zip(done, wanted, strict=True):
        assert [row for row in each.history if len(row) > 1] == other.history
    with pytest.raises(InputError, match=r"learning_rate = 0.001; got 0.01"):
        train_stacked(make(), ROWS, 16, checkpoint=tmp_path, learning_rate=0.01, **options)
    with pytest.raises(InputError, match=r"random_state = \[0, 1, 2\]; got \[0, 1\]"):
        train_stacked(make()[:2], ROWS, 16, checkpoint=tmp_path, **options)


def test_a_stack_keeps_its_precision_on_another_processor(tmp_path, monkeypatch):
    for steps, has in ((3, True), (6, False)):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda has=has: has)
        done = train_stacked([VAE((6,), 2)], ROWS, steps, checkpoint=tmp_path, verbose=0)
        assert done[0].precision == "bfloat16" and done[0].steps == steps


def test_a_model_that_diverges_leaves_the_others_as_they_are():
    def make(worst):
        return [VAE((6,), 2, beta=beta, random_state=0) for beta in (1.0, worst, 2.0)]

    fine, hurt = make(3.0), make(1e39)
    train_stacked(fine, ROWS, 20, batch_size=16, random_states=[0, 0, 0], verbose=0)
    done = train_stacked(hurt, ROWS, 20, batch_size=16, random_states=[0, 0, 0], verbose=0)
    assert "became" in done[1].note and not done[0].note and not done[2].note
    assert len(done[1].history) < len(done[0].history) and done[1].steps == 20
    for place in (0, 2):
        for name, value in fine[place].state_dict().items():
            assert torch.equal(hurt[place].state_dict()[name], value), name


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (AdaGVAE((4,), 2), "groups of rows"),
        (MetricEncoder((4,), 2), "groups of rows"),
        (VAE((1, 32, 32), 2), "no perceptron"),
        (ISAVAE((4,), subspaces=[(2.0, 2)], learn="subspaces"), "nor one of fixed exponents"),
        (models.InfoWGANGP((1, 16, 16), 2), "its passes are its own"),
        (VAE((4,), 2, loss=lambda a, b: (a - b).abs().sum(dim=1)), "a module or a function"),
        (AAE((4,), 2, discriminator_width=4), "not among those that are stacked"),
        (models.InfoVAE((4,), 2), "not among those that are stacked"),
        (VAE((4,), 2).double(), "its weights are float64"),
    ],
)
def test_what_cannot_be_stacked_says_why(model, why):
    assert why in why_alone(model)
    if model.groups == 1 and not model.labelled:
        with pytest.raises(InputError, match=f"cannot be trained in a stack: .*{why}"):
            train_stacked([model], torch.rand(9, *model.shape), 1, batch_size=4, verbose=0)


def test_a_model_of_which_a_part_is_frozen_is_trained_alone():
    frozen = VAE((4,), 2)
    frozen.decoder.requires_grad_(False)
    assert why_alone(frozen) == "some of its parameters do not learn"
    with pytest.raises(InputError, match="some of its parameters do not learn"):
        train_stacked([VAE((4,), 2), frozen], torch.rand(9, 4), 1, batch_size=4, verbose=0)


def test_settings_that_were_scheduled_are_put_back_also_after_an_interrupt():
    def interrupt(model):
        raise KeyboardInterrupt

    stack = [VAE((6,), 2, random_state=seed) for seed in range(2)]
    options = TrainOptions(
        schedules={"beta": (0.0, 9.0)}, callbacks={"end": interrupt}, callback_every=2
    )
    with pytest.raises(KeyboardInterrupt):
        train_stacked(stack, ROWS, 6, batch_size=8, options=options, verbose=0)
    assert [model.settings.beta for model in stack] == [1.0, 1.0]


def test_passes_of_the_users_own_are_not_stacked():
    class Shifted(VAE):
        def decode(self, z):
            return super().decode(z + 1)

    assert why_alone(Shifted((4,), 2)) == "its passes are its own"


@pytest.mark.parametrize(
    ("members", "options", "message"),
    [
        ([], {}, "at least one model; got none"),
        ([VAE((6,), 2), AE((6,), 2)], {}, "must be of one class; got AE, VAE"),
        ([VAE((6,), 2), VAE((6,), 3)], {}, "one shape and differ in numbers alone; got 2 shapes"),
        (
            [ISAVAE((6,), subspaces=[(p, 2)]) for p in (2.0, 2.2)],
            {},
            "Models of a stack must have one prior; got 2",
        ),
        ([DIPVAE((6,), 2), DIPVAE((6,), 2, kind="II")], {}, "1 shapes and 2 ways"),
        ([VAE((6,), 2)], {"random_states": [0, 1]}, "random_states must be 1 numbers; got 2"),
        ([VAE((6,), 2)], {"options": 3}, "options must be TrainOptions; got int"),
    ],
)
def test_bad_stacks_are_said_in_one_sentence(members, options, message):
    with pytest.raises(InputError, match=message):
        train_stacked(members, ROWS, 1, verbose=0, **options)


@pytest.mark.parametrize("steps", [0, -1])
def test_a_stack_takes_a_step_at_least(steps):
    with pytest.raises(InputError, match=f"steps must be at least 1; got {steps}"):
        train_stacked([VAE((6,), 2)], ROWS, steps, verbose=0)
