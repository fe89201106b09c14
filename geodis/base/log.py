"""The one logger of geodis: silent until a program says where its words go."""

from __future__ import annotations

import logging

# `logging.basicConfig(level="INFO")` shows every stage with its time; DEBUG what goes on in it.
LOG = logging.getLogger("geodis")
LOG.addHandler(logging.NullHandler())
