"""What is kept of a training run: its identity, its checkpoints, and who may write them."""
