"""The parts of the analysis of maps: walks, tables and the figure."""
