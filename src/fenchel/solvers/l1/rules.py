"""Accuracies of proximal Newton steps, in Python and in the compiled loop of small problems."""

from __future__ import annotations

#: the quadratic model is minimized to this share of the KKT violation
MODEL_TOLERANCE = 0.05
#: to this share of that if its Hessian is formed, since a sweep over the matrix takes far less time than the passes of
#: a Newton step; and it is accurate enough if steps change partial derivatives by no more than this share of it
INNER_TOLERANCE = 0.1
#: distance from 1 of the multiple of theta that is feasible below which the dual point of the model may end the solve:
#: if the Hessian is formed, and by coordinate descent over columns, whose passes take long
NEAR_MATRIX, NEAR_COLUMNS = 0.98, 0.3
#: the model is then minimized to a KKT violation that adds this share of the target to the gap
LAST_TOLERANCE = 1.0
#: a working set is not solved as long as its theta must be scaled below this to be feasible
SMALLEST_SCALE = 0.5
#: relative size of the derivative at which the line search ends
LINE_SEARCH_TOLERANCE = 0.1
#: the second derivative of every example is at least ``damping`` times the largest one: first and smallest damping
FIRST_DAMPING, LEAST_DAMPING = 1e-3, 1e-8
#: the damping grows after line searches that end below this step
SHORT_STEP = 0.3
#: features and entries of X up to which the compiled loop makes the steps
FEW_FEATURES, FEW_ENTRIES = 64, 1 << 18
