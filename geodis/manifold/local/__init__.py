"""Local geometry: neighbours, graph, intrinsic dimension, principal components, tangents."""
