"""Public names, and where each lives: what runs and what type checkers read."""

from . import autoencoders as autoencoders
from . import networks as networks
from . import objectives as objectives
from . import priors as priors
from . import saving as saving
from . import use as use
from .autoencoders import (
    Autoencoder as Autoencoder,
    AE as AE,
    VAE as VAE,
    BetaVAE as BetaVAE,
    AnnealedVAE as AnnealedVAE,
    BetaTCVAE as BetaTCVAE,
    FactorVAE as FactorVAE,
    AAE as AAE,
    DIPVAE as DIPVAE,
    InfoVAE as InfoVAE,
    AdaGVAE as AdaGVAE,
    AdaMLVAE as AdaMLVAE,
    TAE as TAE,
    TVAE as TVAE,
    AdaTVAE as AdaTVAE,
)
from .subspaces import ISAVAE as ISAVAE, ISATCVAE as ISATCVAE
from .gan import InfoWGANGP as InfoWGANGP
from .metric import MetricEncoder as MetricEncoder
from .model import Model as Model
from .priors import (
    LpNested as LpNested,
    StandardNormal as StandardNormal,
    UniformCodes as UniformCodes,
)
from .training.loop import Training as Training, train as train
from .use import (
    encode as encode,
    decode as decode,
    reconstruct as reconstruct,
    sample as sample,
    traverse as traverse,
    iwae_bound as iwae_bound,
    channel_moments as channel_moments,
)
from .training.watching import score_during as score_during
from .saving import save_model as save_model, load_model as load_model
