"""Run the analysis from its command line."""

import sys

from analyses.recordings.fits_of_recordings import main

sys.exit(main())
