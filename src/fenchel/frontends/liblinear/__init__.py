"""LIBLINEAR's programs ``train`` and ``predict`` (version 2.50)."""
