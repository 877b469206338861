"""The loop around every solver, the schedule of certificates, and the solution."""
