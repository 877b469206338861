"""The constants of the semismooth Newton method, which its steps in NumPy and in compiled loops share."""

#: factor of mu when the centre moves
MU_FACTOR = 0.5
#: the centre moves when the predicted decrease of a step is below this share of the gap of the risk
INNER_ACCURACY = 0.1
#: the centre moves as well when the gap of the regularizer is below this share of the gap of the risk
INNER_GAP = 0.01
#: the Hessian is averaged over this share of the root mean square change of the scores in the last step: of smoothed
#: losses, and of smooth ones whose curvature ends on both sides, of which 0.03 to 0.8 were tried (w8a and a9a,
#: Huberized hinge, C = 1 and 10)
AVERAGING_RADIUS, AVERAGING_RADIUS_OF_SMOOTH = 0.3, 0.1
#: relative size of the derivative at which the line search ends
LINE_SEARCH_TOLERANCE = 0.1
#: a gap above this multiple of R(0) is no rounding error, which saves an evaluation of the objective
CLEARLY_ABOVE_ROUNDING = 1e-10
