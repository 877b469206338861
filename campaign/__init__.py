"""Random attacks on the whole library, for hours: ``python -m campaign``, see README.md.

The evaluations in high precision are those of the tests.
"""

import os
import sys
from pathlib import Path

# before NumPy: problems of eight rows gain nothing from threads, and the campaign has processes of its own
os.environ.setdefault("OMP_NUM_THREADS", "1")

PROJECT = Path(__file__).resolve().parent.parent
sys.path += [folder for folder in (str(PROJECT / "tests"),) if folder not in sys.path]
