"""Joint risks of several classes."""
