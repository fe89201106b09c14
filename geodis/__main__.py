"""`python -m geodis`, and the command `geodis`: the command line, once it is loaded."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def start() -> None:
    """Run the command line; an interrupt while it is still loading is told in a word, too."""
    try:
        from geodis.cli import main

        main()
    except KeyboardInterrupt:
        print("geodis: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    start()
