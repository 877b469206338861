"""Exponentiated gradient steps on the dual of the log-loss of labelled sequences."""
