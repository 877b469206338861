"""The relative absolute error of the prevalence, smoothed by half an example of each class, as in QuaPy."""


def shares(first, second):
    """The smoothed shares of both classes: (p + e) / (1 + 2 e) with e = 1 / (2 n)."""
    n = first + second
    e = 1 / (2 * n)
    return [(count / n + e) / (1 + 2 * e) for count in (first, second)]


def delta(fn, fp, n_pos, n_neg, parameter=None):
    """The mean over both classes of the relative error of their estimated share."""
    true, estimated = shares(n_pos, n_neg), shares(n_pos - fn + fp, n_neg - fp + fn)
    return sum(abs(q - p) / p for p, q in zip(true, estimated, strict=True)) / 2


def parameters(y):
    """Every kind of parameter of the measure; None if it has none."""
    return [None]
