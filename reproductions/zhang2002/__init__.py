"""Zhang (2002): On the Dual Formulation of Regularized Linear Systems with Convex Risks."""
