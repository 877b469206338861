"""Reference methods from the papers, which ``solver="auto"`` never selects."""
