"""What a report says in words, over all sections and of the manifold."""
