"""Risks of labelled sequences: linear chains with a score for each token and label and for each pair of labels."""
