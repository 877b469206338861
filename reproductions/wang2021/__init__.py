"""Wang and Scott (2021), An Exact Solver for the Weston-Watkins SVM Subproblem: Tables 4 to 9, Figures 1 and 2."""
