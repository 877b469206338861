"""Cutting planes (BMRM) and their line searches."""
