"""Where points, images and factors come from: sampled manifolds and users' files."""
