"""Drop-in replacements for scikit-learn's linear models."""
