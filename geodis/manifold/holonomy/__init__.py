"""Tangents, graph -> factors that parallel transport leaves alone, one file a step."""
