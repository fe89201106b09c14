"""The published networks have the published layers, and say what they cannot take."""

import pytest
import torch
from torch import nn

from geodis.base.check import InputError
from geodis.models import networks
from geodis.models.networks import encoder_decoder, parameter_count

# Seed 001, table A.1, with 25 latents and 3 channels; weights + biases of each layer.
CONV_ENCODER = [
    3 * 32 * 16 + 32,
    32 * 32 * 16 + 32,
    32 * 64 * 16 + 64,
    64 * 64 * 16 + 64,
    1024 * 256 + 256,
]
CONV_HEAD = 2 * (256 * 25 + 25)
CONV_DECODER = [
    25 * 256 + 256,
    256 * 1024 + 1024,
    64 * 64 * 16 + 64,
    64 * 32 * 16 + 32,
    32 * 32 * 16 + 32,
    32 * 3 * 16 + 3,
]


def layer_counts(module):
    kinds = nn.Linear | nn.Conv2d | nn.ConvTranspose2d
    return [parameter_count(layer) for layer in module.modules() if isinstance(layer, kinds)]


def test_the_convolutional_pair_is_that_of_table_a1():
    body, head, decoder = encoder_decoder("conv", (3, 64, 64), 25)
    assert layer_counts(body) == CONV_ENCODER
    assert parameter_count(head) == CONV_HEAD
    assert layer_counts(decoder) == CONV_DECODER
    strides = {layer.stride for layer in body if isinstance(layer, nn.Conv2d)}
    assert strides == {(2, 2)}


def test_the_perceptrons_are_those_of_the_appendix():
    body, head, decoder = encoder_decoder("mlp", (1, 64, 64), 10)
    assert layer_counts(body) == [4096 * 1200 + 1200, 1200 * 1200 + 1200]
    assert parameter_count(head) == 1200 * 20 + 20
    wide = 1200 * 1200 + 1200
    assert layer_counts(decoder) == [10 * 1200 + 1200, wide, wide, 1200 * 4096 + 4096]
    assert sum(isinstance(layer, nn.Tanh) for layer in decoder) == 3


def test_the_discriminator_has_six_hidden_layers_of_a_thousand():
    network = networks.discriminator(10)
    assert layer_counts(network) == [10 * 1000 + 1000, *[1000 * 1000 + 1000] * 5, 1000 * 2 + 2]
    slopes = {layer.negative_slope for layer in network if isinstance(layer, nn.LeakyReLU)}
    assert slopes == {0.2}


def test_the_generator_and_critic_are_those_of_table_5():
    """4 continuous codes, 3 categories, 5 noise variables, images of 64 x 64 x 1."""
    made = networks.generator((1, 64, 64), 12)
    assert layer_counts(made) == [
        12 * 128 + 128,
        128 * 1024 + 1024,
        64 * 64 * 16 + 64,
        64 * 32 * 16 + 32,
        32 * 32 * 16 + 32,
        32 * 16 + 1,
    ]
    assert sum(isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d) for layer in made) == 5
    critic = networks.Critic((1, 64, 64))
    assert layer_counts(critic.trunk) == [
        32 * 16 + 32,
        32 * 32 * 16 + 32,
        32 * 64 * 16 + 64,
        64 * 64 * 16 + 64,
        1024 * 128 + 128,
    ]
    assert not any(isinstance(layer, nn.BatchNorm2d) for layer in critic.modules())
    assert layer_counts(networks.code_head(128, 11)) == [128 * 128 + 128, 128 * 11 + 11]


@pytest.mark.parametrize(
    ("network", "shape"),
    [
        ("conv", (1, 64, 64)),
        ("conv", (3, 32, 48)),
        ("mlp", (2, 7, 5)),
        ("vector", (9,)),
        ("vector", (1, 6, 6)),
    ],
)
def test_a_decoder_gives_what_the_encoder_takes(network, shape):
    body, head, decoder = encoder_decoder(network, shape, 4)
    mean, log_variance = head(body(torch.zeros(2, *shape)))
    assert mean.shape == log_variance.shape == (2, 4)
    assert decoder(mean).shape == (2, *shape)


@pytest.mark.parametrize("shape", [(1, 32, 32), (3, 64, 64), (2, 9, 13), (5,)])
def test_the_metric_encoder_takes_images_of_any_size_and_vectors(shape):
    assert networks.metric_encoder(shape, 12)(torch.zeros(2, *shape)).shape == (2, 12)


def test_the_metric_encoder_has_the_layers_that_were_measured():
    network = networks.metric_encoder((1, 32, 32), 12)
    assert layer_counts(network) == [
        32 * 25,
        32 * 64 * 9,
        64 * 128 * 9,
        128 * 128 * 9,
        128 * 16 * 512,
        512 * 12 + 12,
    ]


@pytest.mark.parametrize("shape", [(3, 15, 64), (3, 16, 8), (12,)])
def test_an_image_that_the_convolutions_cannot_take_is_told_what_they_can(shape):
    with pytest.raises(InputError, match=r"from 16 x 16 on.*network='mlp'"):
        encoder_decoder("conv", shape, 4)


def test_a_metric_encoder_needs_eight_pixels():
    with pytest.raises(InputError, match="from 8 x 8 on"):
        networks.metric_encoder((1, 7, 9), 3)


def test_an_unknown_network_is_refused():
    with pytest.raises(InputError, match="network must be one of 'conv', 'mlp', 'vector'"):
        encoder_decoder("resnet", (3, 64, 64), 4)


def test_a_generator_has_no_other_network_to_offer():
    for build in (lambda: networks.Critic((1, 12, 28)), lambda: networks.generator((1, 12, 28), 9)):
        with pytest.raises(InputError, match=r"from 16 x 16 on.*got \(1, 12, 28\)\.$"):
            build()


@pytest.mark.parametrize("sides", [(16, 16), (28, 28), (17, 31), (63, 64), (45, 100), (33, 47)])
def test_images_of_any_sides_come_back_in_their_shape(sides):
    shape = (2, *sides)
    body, head, decoder = encoder_decoder("conv", shape, 3)
    mean, _ = head(body(torch.rand(2, *shape)))
    assert mean.shape == (2, 3) and decoder(mean).shape == (2, *shape)
    assert networks.generator(shape, 4)(torch.rand(2, 4)).shape == (2, *shape)
    assert networks.Critic(shape)(torch.rand(2, *shape)).shape == (2,)


def test_sides_that_are_multiples_of_sixteen_add_nothing():
    assert networks.doubling((3, 64, 96)) == [(0, 0)] * 4
