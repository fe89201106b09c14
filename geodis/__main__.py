"""`python -m geodis`: the command line."""

from geodis.cli import main

main()
