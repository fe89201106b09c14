"""Points larger than memory: a sample is fitted, and all rows are mapped part by part.

`factorise_parts` fits an even sample, makes its atlas, and writes for every part of the rows one
file of axes, coordinates and distances; `open_parts` reads them. A part is a pure function of its
rows and the atlas (`map_part`), so that it does not matter who computes it, or how often.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
