"""Proximal Newton on working sets of features, for the lasso penalty."""
