"""Numerical methods that know nothing of models: line searches, factorizations, sums."""
