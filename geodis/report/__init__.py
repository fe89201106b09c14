"""Reports on latents, factors and images: results and a self-contained HTML page.

The modules are steps; each imports only from those above it::

    latents, factors, images
      -> material       checks inputs and selects rows                      Material
      -> analysis       every section computes its result                   Analysis
      -> sentences      summary and warnings of the sections                Report (results.py)
      -> page           figures and one HTML file                           index.html, figures/
    build               report(): these steps in order

    section, registry   the base class of sections, and their list; see sections/

The package can be called as its main function: ``geodis.report(latents, factors)``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import lazy_loader

if TYPE_CHECKING:
    from geodis.report.results import Report

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


class _CallableModule(ModuleType):
    """A module that can be called as its main function.

    Importing `geodis.report` makes the module an attribute of `geodis`, which would otherwise hide
    the function of that name.
    """

    def __call__(self, *arguments: Any, **options: Any) -> Report:
        from geodis.report.build import report

        return report(*arguments, **options)

    @property
    def __wrapped__(self) -> Callable[..., Report]:  # read by `help` and editors
        from geodis.report.build import report

        return report


sys.modules[__name__].__class__ = _CallableModule
