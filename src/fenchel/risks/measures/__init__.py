"""Performance measures of all scores together."""
