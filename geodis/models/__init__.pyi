"""Public names, and where each lives: what runs and what type checkers read."""

from . import networks as networks, objectives as objectives, priors as priors
from .encoding import (
    decode as decode,
    encode as encode,
    export_encoder as export_encoder,
    generate as generate,
    reconstruct as reconstruct,
    traverse as traverse,
)
from .autoencoder import Autoencoder as Autoencoder
from .unsupervised import ConcreteVAE as ConcreteVAE
from .gans_and_encoders import InfoGAN as InfoGAN
from .gans_and_encoders import InfoWGANGP as InfoWGANGP
from .gans_and_encoders import MetricEncoder as MetricEncoder
from .weakly_supervised import AdaAE as AdaAE, AdaGVAE as AdaGVAE, AdaMLVAE as AdaMLVAE
from .unsupervised import ISATCVAE as ISATCVAE, ISAVAE as ISAVAE
from .gans_and_encoders import TripletEncoder as TripletEncoder
from .weakly_supervised import TAE as TAE, TVAE as TVAE, AdaTAE as AdaTAE, AdaTVAE as AdaTVAE
from .unsupervised import (
    AAE as AAE,
    AE as AE,
    DIPVAE as DIPVAE,
    VAE as VAE,
    AnnealedVAE as AnnealedVAE,
    BetaTCVAE as BetaTCVAE,
    BetaVAE as BetaVAE,
    FactorVAE as FactorVAE,
    InformationDropout as InformationDropout,
    InfoVAE as InfoVAE,
)
from .model_inputs import channel_moments as channel_moments
from .encoding import iwae_bound as iwae_bound
from .priors import LpNested as LpNested, learnt_exponents as learnt_exponents
from .model import Model as Model
from .priors import (
    NormalCodes as NormalCodes,
    StandardNormal as StandardNormal,
    UniformCodes as UniformCodes,
)
from .saving import model_named as model_named
from .saving import load_model as load_model, save_model as save_model
from .training.loop import train as train
from .training.training_run import Training as Training
from .training.during import divergence_during as divergence_during
from .training.train_options import EarlyStopping as EarlyStopping
from .training.during import (
    CSVLogger as CSVLogger,
    RunLogger as RunLogger,
    TensorBoardLogger as TensorBoardLogger,
)
from .training.train_options import TrainOptions as TrainOptions
from .training.during import score_during as score_during
from .sweeps.sweeping import Sweep as Sweep, sweep as sweep
from .sweeps.stacked_training import train_stacked as train_stacked
