"""Losses that are constraints: barrier method and basis pursuit."""
