"""What studies of trained models share: their runs, sets, comparisons and verdicts."""
