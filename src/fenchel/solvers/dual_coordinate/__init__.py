"""Dual coordinate descent: Zhang (2002), Algorithms 1 to 3."""
