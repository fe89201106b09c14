"""Values -> soft ranks and differentiable correlations."""
