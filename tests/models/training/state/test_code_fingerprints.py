"""Codes: equal for what is equal, different where a number may be."""

import subprocess
import sys
from functools import cache, partial, wraps
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import l1_loss, mse_loss

from geodis.kernels.losses.loss_kernel import LossKernel
from geodis.models import VAE
from geodis.models.training.state.code_fingerprints import code_fingerprint, has_own_code

told = code_fingerprint
SCALE, FILLED = 2.0, {"scale": 2.0}
CALLS = 0


def helper(x):
    return x + 1


def naming(x):
    return helper(SCALE * x)


@torch.no_grad()
def decorated(x):
    return x


@cache
def remembered(x):
    return x


def naming_more(x):
    return decorated(x) + remembered(x) + FILLED["scale"]


def counting(x):
    global CALLS
    CALLS += 1
    return CALLS


def around(value):
    """A function that has a value from around it."""
    return lambda x: x + value


def classed(w=1.0, base=VAE):
    """A class whose text does not say its weight."""

    class Mine(base):  # type: ignore[valid-type]
        weight = w
        kinds = (mse_loss, nn.ReLU)

        @property
        def half(self):
            return w / 2

        @cache  # noqa: B019
        def cached(self):
            return w

    return Mine


class Scaled(nn.Module):
    """Has a setting that does not print, a tensor, and a part."""

    def __init__(self, scale=1.0, part=None, tensor=1.0):
        super().__init__()
        self.scale, self.part, self.calls = scale, part or nn.ReLU(), 0
        self.register_buffer("tensor", torch.tensor(tensor))

    def forward(self, x):
        self.calls += 1
        return self.scale * self.tensor * self.part(x)


class Callable:
    """Has settings, and logs what it was called with."""

    def __init__(self, power=2, **settings):
        self.power, self.settings, self.last = power, SimpleNamespace(**settings), None

    def __call__(self, x, y):
        self.last = x
        return (x - y).abs() ** self.power


def wrapped(power):
    def decorate(function):
        @wraps(function)
        def inner(x):
            return function(x) ** power

        return inner

    return decorate


@wrapped(2)
def squared(x):
    return x


@wrapped(3)
def cubed(x):
    return x


PAIRS = {
    "plain values around": (lambda: around(1.0), lambda: around(1.5)),
    "lists around": (lambda: around([1, {"a": 2}]), lambda: around([1, {"a": 3}])),
    "tensors around": (lambda: around(torch.zeros(2)), lambda: around(torch.ones(2))),
    "arrays around": (lambda: around(np.zeros(2)), lambda: around(np.zeros(2, np.float32))),
    "functions around": (lambda: around(mse_loss), lambda: around(l1_loss)),
    "code around": (lambda: around(naming), lambda: around(counting)),
    "modules around": (lambda: around(nn.ReLU()), lambda: around(nn.Tanh())),
    "defaults": (lambda: lambda x, y=SCALE: x, lambda: lambda x, y=SCALE + 1: x),
    "functions": (lambda: naming, lambda: counting),
    "functions of torch": (lambda: mse_loss, lambda: l1_loss),
    "compiled functions": (lambda: torch.tanh, lambda: torch.relu),
    "decorated functions": (lambda: squared, lambda: cubed),
    "partial arguments": (lambda: partial(mse_loss, reduction="none"), lambda: partial(mse_loss)),
    "methods": (lambda: Callable(2).__call__, lambda: Callable(3).__call__),
    "settings": (lambda: Callable(2), lambda: Callable(3)),
    "settings of settings": (lambda: Callable(a=1), lambda: Callable(a=2)),
    "class attributes": (lambda: classed(1.0), lambda: classed(2.0)),
    "bases": (lambda: classed(), lambda: classed(base=nn.Module)),
    "classes": (lambda: Scaled, lambda: Callable),
    "settings of a module": (lambda: Scaled(1.0), lambda: Scaled(2.0)),
    "parts of a module": (lambda: Scaled(), lambda: Scaled(part=nn.Tanh())),
    "parts of parts": (lambda: nn.Sequential(Scaled()), lambda: nn.Sequential(Scaled(2))),
    "tensors of a module": (lambda: Scaled(), lambda: Scaled(tensor=2.0)),
    "what torch does not print": (lambda: nn.MSELoss(), lambda: nn.MSELoss(reduction="none")),
    "learnt losses": (lambda: LossKernel.box(1), lambda: LossKernel.box(1, scale=2.0)),
    "containers": (lambda: {"a", "b"}, lambda: {"a", "c"}),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_one_is_equal_to_itself_and_differs_from_another(kind):
    one, other = PAIRS[kind]
    assert told(one()) == told(one())
    assert told(one()) != told(other())


def test_what_a_function_names_in_its_module_counts(monkeypatch):
    before = told(naming), told(around(naming))
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    changed = told(naming), told(around(naming))
    monkeypatch.undo()
    monkeypatch.setattr(sys.modules[__name__], "helper", lambda x: x + 2)
    assert len({before[0], changed[0], told(naming)}) == 3 and changed[1] != before[1]


@pytest.mark.parametrize(
    ("name", "other"),
    [("decorated", torch.no_grad()(helper)), ("remembered", cache(helper))],
    ids=["by torch", "by a cache"],
)
def test_what_stands_in_a_decorator_counts(name, other, monkeypatch):
    before = told(naming_more)
    monkeypatch.setattr(sys.modules[__name__], name, other)
    assert told(naming_more) != before


def test_what_a_module_fills_as_it_runs_does_not_count(monkeypatch):
    before = told(naming_more)
    monkeypatch.setitem(FILLED, "scale", 3.0)
    assert told(naming_more) == before


def test_code_that_is_installed_is_told_by_its_name():
    assert not has_own_code(type(pytest.approx(1.0)))


def test_what_code_sets_while_it_runs_does_not_count():
    before = told(counting)
    counting(0)
    assert told(counting) == before
    loss = Callable()
    before = told(loss)
    loss(torch.ones(2), torch.zeros(2))
    assert told(loss) == before
    module = Scaled(part=nn.BatchNorm1d(2))
    before = told(module)
    module(torch.rand(3, 2))
    assert told(module.eval()) == before

    def outer():
        calls = 0

        def inner(x):
            nonlocal calls
            calls += 1
            return x

        return inner

    loss = outer()
    before = told(loss)
    loss(1)
    assert told(loss) == before == told(outer())


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.LSTM(2, 3),
        lambda: nn.utils.spectral_norm(nn.Linear(2, 2)),
        lambda: nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)),
    ],
)
def test_modules_that_keep_their_weights_twice_are_told_by_their_structure(make):
    module = make()
    before = told(module, weights=False)
    with torch.no_grad():
        for weight in module.parameters():
            weight.add_(1)
    module(torch.zeros(1, 2))
    assert told(module, weights=False) == before == told(make(), weights=False)


def test_weights_need_not_count():
    one, other = nn.Linear(2, 2), nn.Linear(2, 2)
    assert told(one) != told(other)
    assert told(one, weights=False) == told(other, weights=False)
    assert told(one, weights=False) != told(nn.Linear(2, 2, bias=False), weights=False)


def test_addresses_do_not_count():
    class Printing(nn.Module):
        def extra_repr(self):
            return f"{object()}"

    assert told(Printing()) == told(Printing())


def test_what_names_itself_is_told():
    def again(x):
        return again(x - 1) if x else 0

    loop = [1]
    loop.append(loop)
    assert told(again) == told(again) and told(loop) == told(loop)


def test_a_model_that_learns_is_told_by_its_class():
    one, other = VAE((4,), 2), VAE((4,), 2, random_state=1)
    assert told(around(one)) == told(around(other))


def test_own_code_is_neither_of_geodis_nor_of_torch():
    assert has_own_code(classed()) and has_own_code(Scaled)
    for kind in (VAE, nn.Linear, LossKernel, dict, torch.utils.data.TensorDataset):
        assert not has_own_code(kind)


FILE = '''
from functools import partial
import torch
from torch import nn
from geodis.models import VAE
from geodis.models.training.state.code_fingerprints import code_fingerprint as told

class Mine(VAE):
    """COMMENT"""
    names = {"a", "b", "c"}  # COMMENT
    def forward(self, x, dataset_size=1, labels=None):
        return super().forward(x, dataset_size, labels)

def loss(x, y, names=frozenset("abc")):
    """COMMENT"""
    return (x - y).abs().flatten(1).mean(1)

print(told(Mine), told(loss), told(partial(loss, names=3)), told(nn.Sequential(nn.Tanh())))
'''


@pytest.mark.long
def test_the_same_code_is_the_same_in_another_process(tmp_path):
    said = set()
    for seed, comment in [("1", "One."), ("2", "Two\nlines.")]:
        file = tmp_path / f"code_{seed}.py"
        file.write_text(FILE.replace("# COMMENT", f"# {seed}").replace("COMMENT", comment))
        done = subprocess.run(
            [sys.executable, str(file)],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"},
        )
        said.add(done.stdout)
    assert len(said) == 1 and len(set(said.pop().split())) == 4
