"""Zhang, Saha and Vishwanathan (2012), Smoothing Multivariate Performance Measures: Table 2 and Figures 2 to 32."""
