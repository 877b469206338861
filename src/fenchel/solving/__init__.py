"""The one loop around every solver, the schedule of its certificates, and what it returns."""
