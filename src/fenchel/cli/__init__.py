"""The command ``fenchel``."""
