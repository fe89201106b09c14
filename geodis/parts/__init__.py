"""Factorise data larger than memory: fit a sample, then map all rows in parts.

`factorise_parts` fits an even sample, makes its atlas, and writes one file of axes, coordinates and
distances for every part of the rows; `open_parts` reads them. A part is a pure function of its rows
and the atlas (`map_part`), so that any process can compute it, repeatedly if necessary.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
