"""Estimators of the intrinsic dimension beside the one that a fit uses, for comparison."""
