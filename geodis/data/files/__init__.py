"""Users' files -> arrays of points, and factors with their names. Nothing pickled is loaded."""
