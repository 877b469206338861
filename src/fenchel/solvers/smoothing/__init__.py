"""L-BFGS on smoothed risks (SMS)."""
