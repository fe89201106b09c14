"""Models work where their batch is: no tensor of a step is made anywhere else, nobody waits.

The device "meta" has shapes and no numbers, so a step there shows on any machine what a GPU would
be asked for; whatever lies on the CPU would be a wait for the device.
"""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from geodis import FactorGrid, kernels
from geodis.base.check import InputError
from geodis.models import (
    AAE,
    DIPVAE,
    ISAVAE,
    TVAE,
    VAE,
    AnnealedVAE,
    BetaTCVAE,
    FactorVAE,
    InfoGAN,
    InformationDropout,
    InfoVAE,
    InfoWGANGP,
    LpNested,
    MetricEncoder,
    TrainOptions,
    divergence_during,
    randomness,
    train,
)
from geodis.models.model_inputs import sent
from geodis.models.priors import StandardNormal, UniformCodes
from geodis.models.randomness import kept_generators, seeded
from geodis.models.sweeps.stacks import ModelStack
from geodis.models.training import batches
from geodis.models.training import dataset_rows as held_rows
from geodis.models.training.dataset_rows import ordered_triplets
from geodis.models.training.step import TermsWatch, take_step
from tests.models.test_autoencoders import MAKERS
from tests.options import flat

stream_of = flat(batches.stream_of, TrainOptions)

ALL = {
    **MAKERS,
    "InfoWGANGP": lambda shape: InfoWGANGP((1, 32, 32), 3, categories=3),
    "InfoGAN": lambda shape: InfoGAN((1, 32, 32), 3, categories=3),
    "VAE, conv": lambda shape: VAE((3, 32, 32), 4, standardise=([0.5] * 3, [0.2] * 3)),
    "VAE, Bernoulli": lambda shape: VAE(shape, 4, network="vector", loss="bernoulli"),
}


class Elsewhere(TorchDispatchMode):
    """Notes every operation whose result is not on a device."""

    def __init__(self, device):
        super().__init__()
        self.device, self.found = device, set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        for each in tree_leaves(made):
            if isinstance(each, torch.Tensor) and each.device.type != self.device:
                self.found.add(str(function))
        return made


@pytest.mark.parametrize("name", ALL)
def test_a_step_makes_no_tensor_on_another_device(name):
    model = ALL[name]((8,)).to("meta")
    x = torch.zeros(12, *model.shape, device="meta")
    labels = torch.zeros(12, 2, device="meta") if model.labelled else None
    with Elsewhere("meta") as watched:
        batch = model(x, 20, labels)
        sum(model.terms(batch).values()).backward()
        if model.discriminator is not None:
            model.adversary_loss(batch).backward()
    assert not watched.found
    assert all(p.grad is None or p.grad.device.type == "meta" for p in model.parameters())


META = torch.device("meta")


def grid_of(model):
    """A grid of 12 images of the shape that a model takes."""
    channels, height, width = model.shape
    factors = np.stack(np.unravel_index(np.arange(12), (3, 4)), axis=1)
    images = np.random.default_rng(0).integers(0, 256, (12, height, width, channels))
    return FactorGrid.from_arrays(images.astype(np.uint8), factors)


def players_of(model):
    """Optimisers without a state, which Adam would keep on the CPU for a device like this."""
    parts = {"model": model.own_parameters(), "adversary": model.adversary_parameters()}
    return {name: torch.optim.SGD(part, 0.1) for name, part in parts.items() if part}


LOSSES = {
    "TVAE, learnt loss": kernels.LossKernel.gaussian(2),
    "TVAE, convolved apart": kernels.LossKernel.box(1, loss="mae"),
}
STEPPED = {
    **ALL,
    "MetricEncoder, rolled": lambda shape: MetricEncoder(shape, 4, roll=True),
    **{
        name: lambda shape, loss=loss: TVAE(shape, 3, network="vector", loss=loss)
        for name, loss in LOSSES.items()
    },
}


@pytest.mark.parametrize("rows_on", ["device", "host"])
@pytest.mark.parametrize("name", STEPPED)
def test_a_step_waits_for_nothing(name, rows_on):
    """What is on "meta" has no numbers to be asked for: a look at one raises."""
    model = STEPPED[name]((1, 8, 8)).to("meta")
    supervision = "perceived" if name.startswith("T") and model.groups == 3 else "scaled"
    options = {"supervision": supervision, "device": META, "rows_on": rows_on}
    draw, size = stream_of(model, grid_of(model), batch_size=8, **options)
    watch = TermsWatch(META)
    for step in range(2):
        drawn = draw(0, step)
        assert drawn.x.device == META and drawn.x.dtype == torch.float32
        with Elsewhere("meta") as watched:
            terms = take_step(model, drawn, size, players_of(model), "float32", step, watch)
        assert not watched.found and all(term.device == META for term in terms.values())
    with pytest.raises((NotImplementedError, RuntimeError)):
        watch.look()


@pytest.mark.parametrize(
    "kind", [VAE, BetaTCVAE, FactorVAE, AnnealedVAE, DIPVAE, InformationDropout]
)
def test_a_stack_is_computed_where_it_is(kind, monkeypatch):
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda kind: False)  # knows no "meta"
    stack = ModelStack([kind((6,), 4, random_state=seed) for seed in range(3)], 50).to("meta")
    x, noise = torch.zeros(3, 8, 6, device="meta"), torch.zeros(3, 8, 4, device="meta")
    settings = stack.settings()  # come from the host, one number a model
    with Elsewhere("meta") as watched:
        terms, z = stack.terms(x, noise, settings)
        sum(value.sum() for value in terms.values()).backward()
        if stack.adversary is not None:
            stack.adversary_loss(
                z, torch.rand(3, 8, 4, device="meta").argsort(dim=1)
            ).sum().backward()
    # Mapped over models, a Python number is a tensor without dimensions, which no kernel waits for.
    assert watched.found <= {"aten._to_copy.default"}
    assert all(value.device == META for value in terms.values())


@pytest.mark.parametrize("name", LOSSES)
def test_perceived_triplets_are_ordered_where_the_rows_are(name):
    model = STEPPED[name]((1, 8, 8)).to("meta")  # the loss goes along
    rows = torch.zeros(8, 1, 8, 8, device="meta")
    with Elsewhere("meta") as watched:
        made = ordered_triplets(rows, np.random.default_rng(0), model.settings.loss)
    assert not watched.found and made.shape == (24, 1, 8, 8)


@pytest.mark.parametrize("kind", ["grid", "arrays", "labels", "tensor"])
def test_rows_that_are_held_are_the_same_rows(kind):
    images = np.random.default_rng(0).integers(0, 256, (600, 8, 8, 1), dtype=np.uint8)
    factors = np.stack(np.unravel_index(np.arange(600), (20, 30)), axis=1)
    data = {
        "grid": lambda: FactorGrid.from_arrays(images, factors),
        "arrays": lambda: images / 255,
        "labels": lambda: (images, factors),
        "tensor": lambda: torch.from_numpy(images).permute(0, 3, 1, 2),
    }[kind]()
    histories = []
    for rows_on in ("host", "device", "auto"):
        model = MetricEncoder((1, 8, 8), 2) if kind == "labels" else VAE((1, 8, 8), 2)
        options = TrainOptions(rows_on=rows_on)
        done = train(model, data, 12, batch_size=16, options=options, verbose=0)
        histories.append(done.history)
    assert histories[0] == histories[1] == histories[2]


def test_a_grid_that_is_held_is_drawn_once():
    class Counting(FactorGrid):
        drawn = 0

        def _draw(self, index):
            Counting.drawn += len(index)
            return np.zeros((len(index), 2, 2, 1), np.uint8)

    grid = Counting((7, 100), image_shape=(2, 2, 1))
    train(VAE(grid, 2), grid, 9, batch_size=50, options=TrainOptions(rows_on="device"), verbose=0)
    assert Counting.drawn == 700


def test_rows_go_to_a_gpu_that_has_room_and_will_use_them(monkeypatch):
    monkeypatch.setattr(held_rows, "free_bytes", lambda device: 4_000_000)
    gpu, cpu, shape = torch.device("cuda"), torch.device("cpu"), (1, 10, 10)
    assert held_rows.holds_rows("auto", gpu, 2500, shape, 2500)
    assert not held_rows.holds_rows("auto", gpu, 2501, shape, None)  # of a quarter of what is free
    assert not held_rows.holds_rows("auto", gpu, 2500, shape, 2499)  # most would never be drawn
    assert held_rows.holds_rows("device", cpu, 10**9, shape, 1)
    assert not held_rows.holds_rows("host", gpu, 1, shape, 10)
    monkeypatch.undo()
    assert not held_rows.holds_rows("auto", cpu, 10, shape, 10**6)


def test_rows_out_of_range_are_found_before_they_are_held():
    rows = torch.full((9, 4), 1.5)
    options = TrainOptions(rows_on="device")
    with pytest.raises(InputError, match=r"data in \[0, 1\]; got 1.5 to 1.5 in the data: scale"):
        train(VAE((4,), 2, loss="bernoulli"), rows, 2, batch_size=4, options=options, verbose=0)


def test_a_gpu_gets_its_rows_from_pinned_memory():
    calls = []

    class Rows(SimpleNamespace):
        def pin_memory(self):
            calls.append("pinned")
            return self

        def to(self, device, non_blocking=False):
            calls.append((device.type, non_blocking))
            return self

    sent(Rows(dtype=torch.uint8, device=torch.device("cpu")), torch.device("cuda"))
    assert calls == ["pinned", ("cuda", True)]


def test_a_term_that_is_no_number_is_found_at_the_next_look():
    watch = TermsWatch(META)
    watch._unseen = [
        (3, ("kl",), torch.tensor([1.0])),
        (4, ("kl", "rest"), torch.tensor([1.0, torch.inf])),
        (5, ("kl",), torch.tensor([torch.nan])),
    ]
    with pytest.raises(FloatingPointError, match="rest became inf at step 4"):
        watch.look()
    watch.look()  # what was seen is told once


class Narrow(TorchDispatchMode):
    """Refuses float64 on a device that has none."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        for each in tree_leaves(made):
            wide = isinstance(each, torch.Tensor) and each.dtype == torch.float64
            if wide and each.device.type == "meta":
                raise TypeError(f"{function}: this device has no float64")
        return made


def test_priors_are_as_exact_as_their_device_allows(monkeypatch):
    monkeypatch.setattr(randomness, "NARROW", ("meta",))
    prior = LpNested((2.1, [1, (1.5, [2])]), learn="all")
    with Narrow():
        prior.to("meta")
        z = torch.zeros(5, 3, device="meta", requires_grad=True)
        prior.log_prob(z).sum().backward()
        assert prior.draw_for(z.detach()).shape == (5, 3)
        model = ISAVAE((4,), subspaces=[(2.0, 2)], learn="subspaces").to("meta")
        batch = model(torch.zeros(6, 4, device="meta"))
        sum(model.terms(batch).values()).backward()
    assert {each.dtype for each in prior.state_dict().values()} == {torch.float32}
    prior.to_empty(device="cpu")
    assert {each.dtype for each in prior.state_dict().values()} == {torch.float64}


class NarrowToRead(Narrow):
    """One whose numbers can be asked for; they are zeros."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function is torch.ops.aten._to_copy.default and args[0].device.type == "meta":
            return torch.zeros(args[0].shape, dtype=args[0].dtype)
        return super().__torch_dispatch__(function, types, args, kwargs)


def test_the_divergence_is_taken_apart_where_there_is_no_float64(monkeypatch):
    monkeypatch.setattr(randomness, "NARROW", ("meta",))
    model = ISAVAE((4,), subspaces=[(2.0, 2)])
    parts = divergence_during(torch.rand(20, 4), 20)
    on_the_host = parts(model)
    with NarrowToRead():
        model.prior.to("meta")
        narrow = parts(model)
    # Only the density of the prior is asked for there.
    same = {"information", "total correlation", "total correlation of a batch"}
    assert {name for name in narrow if narrow[name] == on_the_host[name]} >= same
    assert np.isfinite(list(narrow.values())).all()


def test_draws_of_a_tree_for_a_batch_are_those_of_its_samples():
    prior = LpNested.isa(1.7, [(1.2, 2), (3.0, 2)])
    drawn, sampled = prior.draw_for(torch.empty(20_000, 4)), prior.sample(20_000, random_state=0)
    assert drawn.dtype == torch.float32
    for power in (1, 2, 4):
        moments = [each.abs().pow(power).mean(dim=0) for each in (drawn, sampled)]
        torch.testing.assert_close(*moments, rtol=0.1, atol=0)
    ordinary = [(each[:, 0] * each[:, 1]).abs().mean() for each in (drawn, sampled)]
    torch.testing.assert_close(*ordinary, rtol=0.1, atol=0)


class FakeGpus:
    """Two GPUs with a number each for a generator."""

    def __init__(self, initialized=True):
        self.states, self.there = [5, 6], initialized

    def is_available(self):
        return True

    def is_initialized(self):
        return self.there

    def get_rng_state_all(self):
        return list(self.states)

    def set_rng_state_all(self, states):
        self.states = list(states)

    def manual_seed(self, seed):
        self.states[0] = seed

    def manual_seed_all(self, seed):
        self.states = [seed, seed]


def test_generators_of_every_device_are_put_back(monkeypatch):
    gpus, apple = FakeGpus(), SimpleNamespace(state=7)
    apple.get_rng_state = lambda: apple.state
    apple.set_rng_state = apple.manual_seed = lambda state: setattr(apple, "state", state)
    monkeypatch.setattr(torch, "cuda", gpus)
    monkeypatch.setattr(torch, "mps", apple)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    with seeded(3):
        assert gpus.states[0] == gpus.states[1] == apple.state == torch.initial_seed()
    assert gpus.states == [5, 6] and apple.state == 7
    with kept_generators():
        randomness.reseed(11, torch.device("cuda:1"))
        assert gpus.states == [11, 11] and apple.state == 7
        randomness.reseed(12, torch.device("mps"))
    assert gpus.states == [5, 6] and apple.state == 7


def test_gpus_that_nobody_uses_keep_no_seed(monkeypatch):
    gpus = FakeGpus(initialized=False)
    monkeypatch.setattr(torch, "cuda", gpus)
    with seeded(3):
        assert gpus.states == [5, 6]


def test_the_watch_sees_what_is_elsewhere():
    with Elsewhere("meta") as watched:
        torch.zeros(3)
    assert watched.found


def test_what_is_drawn_for_a_batch_follows_the_prior(generator):
    z = torch.empty(20_000, 3)
    drawn = StandardNormal(3).draw_for(z)
    assert drawn.shape == z.shape and abs(float(drawn.mean())) < 0.02
    assert float(drawn.std()) == pytest.approx(1, abs=0.02)
    codes = UniformCodes(1, 2).draw_for(z)
    assert codes.shape == (20_000, 3) and (codes[:, 1:].sum(dim=1) == 1).all()
    assert codes[:, 0].abs().max() <= 1 and float(codes[:, 0].std()) == pytest.approx(
        0.577, abs=0.01
    )
    assert float(codes[:, 1].mean()) == pytest.approx(0.5, abs=0.02)


def test_a_prior_that_can_only_sample_is_sampled():
    for kind in (AAE, InfoVAE):
        prior = ISAVAE((4,), subspaces=[(2.0, 2)]).prior
        model = kind((4,), 2, prior=prior)
        batch = model(torch.rand(6, 4))
        losses = [*model.terms(batch).values()]
        losses += [model.adversary_loss(batch)] if model.discriminator is not None else []
        assert all(torch.isfinite(loss) for loss in losses)


def test_a_seed_of_its_own_is_put_back():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    with seeded(0):
        first = torch.rand(2)
    assert torch.equal(torch.rand(2), expected)
    with seeded(0):
        assert torch.equal(torch.rand(2), first)
