"""Numerical methods that do not depend on models: line searches, root finding and linear systems."""
