"""Figures as descriptions, drawn with matplotlib for paper; `vector` draws them as SVG."""
