"""The models: a network, a prior and weighted objectives each; one family a file."""
