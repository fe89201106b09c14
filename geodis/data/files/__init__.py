"""Read users' files as arrays of points and as named factors. Pickles are never loaded."""
