"""Losses, their slopes and their conjugates with sixty digits or more: an independent evaluation with ``decimal``.

The formulas are those of the definitions, not those of the library, which avoid cancellation; where these cancel, the
number of digits makes up for it.
"""

from decimal import Context, Decimal, localcontext

from fenchel.losses import NAMED, EpsilonInsensitive, Hinge, Huber, HuberHinge, Interpolation, Quantile

INFINITE = Decimal("Infinity")
#: digits, and digits where numbers from 1e-300 to 1e300 cancel
DIGITS, MANY_DIGITS = 80, 760
#: |t| below which five terms of a series in t have sixty digits
SMALL = Decimal(10) ** -12

#: every loss of the registry, with other parameters and powers than the default too
EVERY_LOSS = [
    *(loss() for loss in NAMED.values()),
    *(Hinge(power=p) for p in (1.2, 1.5, 2.0, 3.0)),
    *(EpsilonInsensitive(epsilon=0.25, power=p) for p in (1.2, 1.5, 2.0, 3.0)),
    HuberHinge(width=1e-3),
    Huber(width=1e-2),
    Quantile(quantile=0.1),
    Interpolation(tolerance=0.1),
]


def digits(count):
    """A context of ``decimal`` with so many digits in which nothing overflows or raises."""
    return localcontext(Context(prec=count, Emax=10**17, Emin=-(10**17), traps=[]))


def log1p(x):
    return x - x * x / 2 if abs(x) < Decimal(10) ** -40 else (1 + x).ln()


def exp(x):
    """e^x, infinite or zero where a float would overflow or underflow by far."""
    return INFINITE if x > 10**6 else Decimal(0) if x < -(10**6) else x.exp()


def xlogx(x):
    return Decimal(0) if x == 0 else x * x.ln()


def _shape(loss):
    """z as a function of (s, y), and (kappa, low, high) of the losses whose conjugate is piecewise quadratic."""
    form = getattr(loss, "form", loss)
    tube = Decimal(getattr(form, "epsilon", 0.0))
    table = {
        "hinge": (0, 1, 1),
        "squared_hinge": (Decimal("0.5"), INFINITE, INFINITE),
        "squared": (1, INFINITE, INFINITE),
        "absolute": (0, 1, 1),
        "epsilon_insensitive": (0, 1, 1),
        "squared_epsilon_insensitive": (Decimal("0.5"), INFINITE, INFINITE),
    }
    if loss.name in ("hinge", "epsilon_insensitive") and loss.power == 2.0:
        return tube, Decimal(1), INFINITE, INFINITE
    if loss.name == "huber_hinge":
        return tube, Decimal(loss.width), Decimal(1), Decimal(1)
    if loss.name == "huber":
        return tube, Decimal(1), Decimal(loss.width), Decimal(loss.width)
    if loss.name == "quantile":
        return tube, Decimal(0), Decimal(loss.quantile), Decimal(1.0 - loss.quantile)
    return tube, *(Decimal(number) for number in table[loss.name])


def _power(loss):
    power = getattr(loss, "power", 1.0)
    return None if power in (1.0, 2.0) else Decimal(power)


def _size(loss, s, y, tube):
    """z, and whether the score is above the label."""
    if loss.task == "classification":
        return max(1 - y * s, Decimal(0)), False
    return max(abs(s - y) - tube, Decimal(0)), s > y


def _poisson(s, y):
    """y h(s - ln y) with h(t) = e^t - 1 - t, by its series where the terms cancel."""
    if not y:
        return exp(s)
    t = s - y.ln()
    if abs(t) < SMALL:
        return y * t * t * (1 + t / 3 * (1 + t / 4 * (1 + t / 5 * (1 + t / 6)))) / 2
    grown = exp(t)
    return grown if grown == INFINITE else y * (grown - 1 - t)


def _poisson_conjugate(u, y):
    """y g(u / y) + u ln y with g(t) = (1 + t) ln(1 + t) - t, by its series where the terms cancel."""
    if u + y < 0:
        return INFINITE
    if not y:
        return xlogx(u) - u
    t = u / y
    if abs(t) < SMALL:
        grown = t * t * (1 - t / 3 * (1 - t / 2 * (1 - 3 * t / 5 * (1 - 2 * t / 3)))) / 2
    else:
        grown = xlogx(1 + t) - t
    return y * grown + u * y.ln()


def value(loss, s, y):
    """f(s, y) of Decimals."""
    with digits(DIGITS):
        match loss.name:
            case "logistic":
                m = y * s
                return log1p(exp(-m)) if m > 0 else -m + log1p(exp(m))
            case "exponential":
                return exp(-y * s)
            case "poisson":
                return _poisson(s, y)
            case "negative_log":
                return -(y * s).ln() if y * s > 0 else INFINITE
            case "hard_margin":
                return Decimal(0) if y * s >= 1 else INFINITE
        with digits(MANY_DIGITS):
            if loss.name == "interpolation":
                return Decimal(0) if abs(s - y) <= Decimal(loss.tolerance) else INFINITE
        power = _power(loss)
        if power is not None:
            z, _ = _size(loss, s, y, Decimal(getattr(loss, "epsilon", 0.0)))
            return z**power / power if z else Decimal(0)
        tube, kappa, low, high = _shape(loss)
        z, above = _size(loss, s, y, tube)
        bound = high if above else low
        u = min(z / kappa, bound) if kappa else bound
        return u * (z - kappa * u / 2) if z else Decimal(0)


def slope(loss, s, y):
    """The largest absolute subgradient at s; zero where f is infinite."""
    with digits(DIGITS):
        match loss.name:
            case "logistic":
                grown = exp(-abs(s))
                return grown / (1 + grown) if y * s > 0 else 1 / (1 + grown)
            case "exponential":
                return exp(-y * s)
            case "poisson":
                return abs(exp(s) - y)
            case "negative_log":
                return 1 / abs(s) if y * s > 0 else INFINITE
            case "hard_margin" | "interpolation":
                return Decimal(0)
        power = _power(loss)
        if power is not None:
            z, _ = _size(loss, s, y, Decimal(getattr(loss, "epsilon", 0.0)))
            return z ** (power - 1) if z else Decimal(0)
        tube, kappa, low, high = _shape(loss)
        z, above = _size(loss, s, y, tube)
        bound = max(low, high) if s == y else high if above else low
        if kappa:
            return min(z / kappa, bound)
        at_kink = loss.task == "regression" and abs(s - y) == tube
        return bound if z or at_kink or (loss.task == "classification" and y * s == 1) else Decimal(0)


def conjugate(loss, u, y):
    """f*(u, y) of Decimals; infinite outside the domain."""
    with digits(DIGITS):
        beta = -y * u
        match loss.name:
            case "logistic":
                if not 0 <= beta <= 1:
                    return INFINITE
                return xlogx(beta) + ((1 - beta) * log1p(-beta) if beta < 1 else 0)
            case "exponential":
                return xlogx(beta) - beta if beta >= 0 else INFINITE
            case "poisson":
                return _poisson_conjugate(u, y)
            case "negative_log":
                return -1 - beta.ln() if beta > 0 else INFINITE
            case "hard_margin":
                return -beta if beta >= 0 else INFINITE
            case "interpolation":
                return u * y + Decimal(loss.tolerance) * abs(u)
        if loss.task == "classification" and beta < 0:
            return INFINITE
        linear = u * y
        power = _power(loss)
        if power is not None:
            linear += Decimal(getattr(loss, "epsilon", 0.0)) * abs(u)
            q = power / (power - 1)
            return linear + (abs(u) ** q / q if u else 0)
        tube, kappa, low, high = _shape(loss)
        if (beta if loss.task == "classification" else u) > high or (loss.task == "regression" and -u > low):
            return INFINITE
        return linear + tube * abs(u) + kappa * u * u / 2
