"""Benchmarks of Fenchel against its peers.  Run them from the project root as modules, see benchmarks/README.md.

One thread for everyone: the settings below must be made before NumPy is imported, and every benchmark imports this
package first.
"""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_variable] = "1"
