"""Settings by name and type, for type checkers: of the families in which some are choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from torch import nn

from geodis.models.model import Average, Deltas, PenaltyKind
from geodis.models.networks import NetworkChoice
from geodis.models.objectives import Normalisation, Reconstruction


class AutoencoderOptions(TypedDict, total=False):
    """What every autoencoder takes."""

    network: NetworkChoice
    encoder: nn.Module | None
    decoder: nn.Module | None
    loss: Reconstruction
    normalise: Normalisation
    standardise: tuple[Sequence[float], Sequence[float]] | None
    prior: nn.Module | None
    cut_decoder: bool
    random_state: Any


class PairSettings(AutoencoderOptions, total=False):
    """Of Ada-GVAE and Ada-ML-VAE."""

    beta: float
    deltas: Deltas
    strength: float
    average: Average


class TripletSettings(AutoencoderOptions, total=False):
    """Of TAE, TVAE and Ada-TVAE, of which each has some."""

    beta: float
    scale: float
    p: Literal[1, 2]
    hard: bool
    margin: float
    deltas: Deltas
    strength: float
    shared_weight: float


class DIPSettings(AutoencoderOptions, total=False):
    """Of DIP-VAE."""

    beta: float
    kind: PenaltyKind
    off_diagonal: float
    diagonal: float
