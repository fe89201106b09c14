"""Points -> what is around each of them: neighbours, graph, dimension, tangents."""
