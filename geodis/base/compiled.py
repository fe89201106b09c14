"""numba's compiler, which keeps what it compiled on the disk where it can."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any

import numba


def njit(*, cache: bool = False, **options: Any) -> Callable[[Any], Any]:
    """`numba.njit`, without the cache where there is no folder that it could be written to.

    numba raises for ``cache=True`` when it can write neither beside the source nor to the home
    folder, as in many containers. The function is then compiled again in every process.

    Parameters
    ----------
    cache : bool
    **options
        As of `numba.njit`.

    Examples
    --------
    >>> @njit(cache=True)
    ... def double(x):
    ...     return 2 * x
    >>> double(3)
    6
    """

    def compiled(function: Callable[..., Any]) -> Any:
        made = numba.njit(**options)(function)
        if cache and hasattr(made, "enable_caching"):  # not under NUMBA_DISABLE_JIT
            with suppress(RuntimeError):  # it keeps the cache it has, which stores nothing
                made.enable_caching()
        return made

    return compiled


def import_compiled(name: str) -> ModuleType:
    """Import a library whose own functions ask numba for a cache.

    Where numba finds no folder for it, a temporary one is used until this process ends.

    Examples
    --------
    >>> import_compiled("math").pi > 3
    True
    """
    try:
        return import_module(name)
    except RuntimeError as error:
        if "no locator" not in str(error):
            raise
    folder = tempfile.mkdtemp(prefix="geodis-numba-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    config: Any = numba.config
    config.CACHE_DIR = folder
    return import_module(name)
