"""Many runs at once: a grid of models, settings, data and seeds -> a folder a run, one table."""
