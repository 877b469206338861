"""Experiments of the papers behind Fenchel, redone: a folder for each paper."""
