"""Saha, Zhang and Vishwanathan (2009), Lower Bounds for BMRM and Faster Rates for Training SVMs: Figures 1 to 4."""
