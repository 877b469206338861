"""Block-coordinate Frank-Wolfe for the max-margin risk of labelled sequences."""
