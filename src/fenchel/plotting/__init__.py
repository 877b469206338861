"""Pictures of fits: convergence, certificates, weights, paths, thresholds and transitions.

They require matplotlib, of the extra ``plot``.  Each function draws on ``ax`` or on a new figure and returns the Axes;
the Display classes, as in scikit-learn, have the same picture with access to its lines.
"""

from fenchel.plotting.certificate import CertificateDisplay, plot_certificate
from fenchel.plotting.coefficients import CoefficientsDisplay, plot_coefficients, plot_features
from fenchel.plotting.convergence import ConvergenceDisplay, plot_convergence
from fenchel.plotting.gap_curves import GapCurve
from fenchel.plotting.path import PathDisplay, plot_path
from fenchel.plotting.thresholds import ThresholdDisplay, plot_thresholds
from fenchel.plotting.transitions import TransitionsDisplay, plot_transitions

__all__ = [
    "CertificateDisplay",
    "CoefficientsDisplay",
    "ConvergenceDisplay",
    "GapCurve",
    "PathDisplay",
    "ThresholdDisplay",
    "TransitionsDisplay",
    "plot_certificate",
    "plot_coefficients",
    "plot_convergence",
    "plot_features",
    "plot_path",
    "plot_thresholds",
    "plot_transitions",
]
