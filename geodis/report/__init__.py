"""Latents, factors, images -> results, and one self-contained HTML page about them.

How a report comes about, a module a step; a step imports only from those above it::

    latents, factors, images
      -> material       the rows that are used, checked                     Material
      -> run            every section computes its part                     Analysis (analysis.py)
      -> sentences      what the sections say -> summary and warnings       Report (results.py)
      -> page           results -> figures and one HTML file                index.html, figures/
    build               report(): these steps in their order, and results.json first

    section, registry   what a section is, and which there are; those of geodis are in sections/
    ask                 asks a section one thing: what goes wrong in it stays in its place

The room has the name of the function that people come for, so it can be called as that function:
``geodis.report(latents, factors)``.
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


class _Room(ModuleType):
    """A module that is called as its main function.

    Importing `geodis.report` makes it an attribute of `geodis`, where it would otherwise hide the
    function of that name for the rest of the program.
    """

    def __call__(self, *arguments: Any, **options: Any) -> Report:
        from geodis.report.build import report

        return report(*arguments, **options)

    @property
    def __wrapped__(self) -> Callable[..., Report]:  # what `help` and editors ask for
        from geodis.report.build import report

        return report


sys.modules[__name__].__class__ = _Room
