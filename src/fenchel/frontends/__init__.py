"""Front ends: the command lines of LIBLINEAR and SVM-perf, with their options, files and printed lines.

``fenchel liblinear train``, ``fenchel liblinear predict``, ``fenchel svmperf learn`` and ``fenchel svmperf classify``
solve the problems of these programs with Fenchel's solvers.  Predictions on small files import neither NumPy nor numba.
"""
