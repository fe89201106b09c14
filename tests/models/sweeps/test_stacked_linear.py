"""The batched linear layer: its gradients against differences, and against single layers."""

import pytest
import torch
from torch import nn

from geodis.models.sweeps.stacks import StackedLinear, _BatchedLinear


def test_gradients_are_those_of_differences(generator):
    shapes = [(3, 4, 5), (3, 2, 5), (3, 1, 2)]
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    layer = _BatchedLinear.apply
    # The layer gives weights gradients in single precision, which differences of 1e-3 can see.
    assert torch.autograd.gradcheck(layer, inputs, eps=1e-3, atol=1e-4)


@pytest.mark.parametrize("half", [False, True])
def test_every_layer_is_as_alone(half, generator):
    layers = [nn.Linear(6, 4) for _ in range(3)]
    stack = StackedLinear(layers)
    x = torch.randn(3, 7, 6, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        together = stack(x)
        alone = torch.stack([layer(rows) for layer, rows in zip(layers, x, strict=True)])
    assert together.dtype == alone.dtype == (torch.bfloat16 if half else torch.float32)
    tolerance = {"rtol": 2e-2, "atol": 2e-2} if half else {"rtol": 1e-5, "atol": 1e-6}
    torch.testing.assert_close(together, alone, **tolerance)
    slope = torch.randn(3, 7, 4)
    (own,) = torch.autograd.grad((together * slope).sum(), x, retain_graph=True)
    (other,) = torch.autograd.grad((alone * slope).sum(), x, retain_graph=True)
    torch.testing.assert_close(own, other, **tolerance)
    (together * slope).sum().backward(retain_graph=True)
    (alone * slope).sum().backward()
    for number, layer in enumerate(layers):
        torch.testing.assert_close(stack.weight.grad[number], layer.weight.grad, **tolerance)
        torch.testing.assert_close(stack.bias.grad[number, 0], layer.bias.grad, **tolerance)
    assert stack.weight.grad.dtype == torch.float32


def test_no_product_is_taken_for_gradients_that_nobody_asks_for(monkeypatch):
    stack = StackedLinear([nn.Linear(6, 4) for _ in range(3)]).requires_grad_(False)
    x = torch.rand(3, 7, 6, requires_grad=True)
    total, product, taken = stack(x).sum(), torch.bmm, []

    def noted(first, second):
        taken.append(second)
        return product(first, second)

    monkeypatch.setattr(torch, "bmm", noted)
    total.backward()
    assert len(taken) == 1 and torch.equal(taken[0], stack.weight)
    torch.testing.assert_close(x.grad, stack.weight.sum(dim=1, keepdim=True).expand_as(x))


def test_weights_go_back_to_their_layers():
    layers = [nn.Linear(3, 2) for _ in range(2)]
    stack = StackedLinear(layers)
    with torch.no_grad():
        stack.weight.add_(torch.arange(2.0)[:, None, None])
        stack.bias.sub_(1)
    before = [layer.weight.detach().clone() for layer in layers]
    stack.write_back()
    assert torch.equal(layers[0].weight, before[0]) and torch.equal(layers[1].weight, before[1] + 1)
    assert list(dict(stack.named_parameters())) == ["weight", "bias"]
