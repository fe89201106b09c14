"""Figures as SVG, for a page and as files: small, readable without a script, light and dark."""
