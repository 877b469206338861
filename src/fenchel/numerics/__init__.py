"""Numerical methods that do not depend on models: line searches and linear systems."""
