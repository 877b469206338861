"""Seconds until the hinge objective is near its optimum, for Fenchel and its peers."""
