"""Models by name: those of geodis, of other packages, and those that the user has defined."""

from __future__ import annotations

from geodis.base.check import InputError
from geodis.base.plugins import load_plugins
from geodis.base.subclasses import all_subclasses, newest_of_each, only_one
from geodis.models.families import (  # noqa: F401 - defines them
    discrete_models,
    info_gan,
    info_wgan,
    metric_encoder,
    pair_models,
    subspace_models,
    triplet_encoder,
    triplet_models,
    unsupervised,
)
from geodis.models.model import Model


def model_named(name: str) -> type[Model]:
    """Find a model's class by its name: "AdaTVAE", or "ada-tvae" as on the command line.

    A class of the user's own is found once it is defined, and one of another package that
    declares the entry point ``geodis.models`` without being imported. One that is defined anew in
    its place, as in a notebook, replaces the older; a name of two classes is refused.

    Examples
    --------
    >>> model_named("beta-vae").__name__
    'BetaVAE'
    """
    load_plugins("geodis.models")
    known = newest_of_each(kind for kind in all_subclasses(Model) if kind.defines_a_model())
    wanted = _plain(name) if isinstance(name, str) else None
    found = [kind for kind in known if _plain(kind.__name__) == wanted]
    if not found:
        names = ", ".join(sorted({kind.__name__ for kind in known}))
        raise InputError(f"The model must be one of {names}; got {name!r}.")
    return only_one([kind for kind in found if kind.__name__ == name] or found)


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
