"""Compiled loops with two or more users."""
