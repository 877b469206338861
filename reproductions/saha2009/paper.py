"""What the paper states: lambda (Appendix D), and its sentences on Figures 1 to 4 (Section 5)."""

from __future__ import annotations

#: Appendix D
LAMBDAS = {
    "adult9": 2.0**-18,
    "astro-ph": 2.0**-17,
    "aut-avn": 2.0**-17,
    "covertype": 2.0**-17,
    "news20": 2.0**-14,
    "real-sim": 2.0**-16,
    "reuters-c11": 2.0**-19,
    "reuters-ccat": 2.0**-19,
    "web8": 2.0**-17,
}

#: the same data here, or the nearest in kind
COUNTERPARTS = {
    "a9a": "adult9",
    "covertype": "covertype",
    "20news.binary": "news20",
    "web8": "web8",
    "reuters-moneyfx": "reuters-c11",
}

#: what Section 5 says of a method on the way to an objective, Figures 1 (iterations) and 2 (time)
STATEMENTS = {
    "pragam": "converges faster than ls-bmrm and pegasos-n; not fast to 1e-3, quite competitive at higher accuracy",
    "pragam, no restart": "this is the paper's method",
    "pragam-b": "only its test accuracy is compared",
    "ls-bmrm": "slower than pragam in iterations; often takes a long time to high accuracy",
    "qp-bmrm": "also fast (in iterations)",
    "dual_coordinate": "this is Fenchel's; see LIBLINEAR",
    "LIBLINEAR": "much faster than the others, in iterations and in time",
    "LIBLINEAR, older": "the same without a limit of passes",
    "pegasos-n": "slower than pragam in iterations",
    "pegasos-1": "very slow in iterations; often takes a long time to high accuracy",
}


def regularization(data: str) -> float:
    """Lambda of Appendix D for one of our sets."""
    return LAMBDAS[COUNTERPARTS[data]] if data in COUNTERPARTS else 1e-3
