"""Rendered objects under rotation and light, with true tangent frames in pixel space."""
