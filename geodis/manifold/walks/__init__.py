"""Moving along one factor while the others stay."""
