"""Figures as descriptions, drawn with matplotlib for paper and with plotly for a page."""
