"""What the commands share: options, what they print and write, data and trained models."""
