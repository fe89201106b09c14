"""A rendered object under 3-D rotation and light, with true tangent frames in pixel space."""
