"""Seconds until the objective of each loss is near its optimum, for Fenchel and its peers."""
