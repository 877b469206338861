"""Compiled loops over arrays: no objects, no validation, no printing."""
