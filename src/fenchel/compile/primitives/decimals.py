r"""Decimal numbers in text to the nearest double, ties to even, as ``float`` reads them.

A number is :math:`w\,10^q` with a whole w.  If :math:`w \le 2^{53}` and :math:`|q| \le 22`, then w and
:math:`10^{|q|}` are doubles, and one product or quotient rounds once (Clinger 1990).  Otherwise the leading 128 bits of
:math:`w\,5^q` decide (Lemire 2021, Algorithm 1, without its special cases: a number that may lie halfway between two
doubles, is subnormal, overflows, or has more than 18 digits is left to the caller, who asks ``float``).

References
----------
Clinger, How to read floating point numbers accurately, PLDI 1990.
Lemire, Number parsing at a gigabyte per second, Software: Practice and Experience 51, 2021.

==========  ==============================================================================
symbol      meaning
==========  ==============================================================================
w, q        the number is w 10^q
l           leading zeros of w in 64 bits
T[q]        leading 128 bits of 5^q, two words; those of q from -27 to -1 are rounded up
z           high word of the product of w 2^l with T[q]
m, p        the double is m 2^(p - 52)
==========  ==============================================================================
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.compile.loop import helper, inlined_helper
from fenchel.compile.primitives.digits import WORD, digits

_SMALLEST, _LARGEST = -342, 308
#: from here to -1 the products w 5^q that are exact are found (Lemire 2021, Section 5)
_ROUNDED_UP = -27
#: a mantissa below this takes another digit: 18 digits fit 64 bits with a sign
_ROOM = 10**17
#: whole numbers up to here are doubles, and so are powers of ten up to 10^22
_EXACT = 1 << 53
#: a whole number of at most 15 digits is below 2^53
_EXACT_DIGITS = 15
_EXACT_POWER = 22
#: larger exponents are left to ``float``
_FAR_EXPONENT = 10_000
_POINT, _PLUS, _MINUS, _ZERO, _NINE, _BIG_E, _SMALL_E = (ord(c) for c in ".+-09Ee")
_ONE, _HALF, _LOW = np.uint64(1), np.uint64(32), np.uint64(0xFFFFFFFF)
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
#: the low 9 bits of z, which the low word of T[q] may change
_UNDECIDED = np.uint64(0x1FF)
_THREE, _TOP = np.uint64(3), np.uint64(63)
_SHIFTS = tuple(np.uint64(shift) for shift in (32, 16, 8, 4, 2, 1))


@functools.cache
def powers_of_five() -> NDArray[np.uint64]:
    """T[q] for q from -342 to 308: the leading 128 bits of 5^q, high word first."""
    words = []
    for q in range(_SMALLEST, _LARGEST + 1):
        power = 5 ** abs(q)
        # 2^(b+127) / 5^-q has 128 bits if 2^(b-1) < 5^-q < 2^b
        value = (1 << (power.bit_length() + 127)) // power + (q >= _ROUNDED_UP) if q < 0 else power << 128
        value >>= value.bit_length() - 128
        words.append((value >> 64, value & (1 << 64) - 1))
    return np.array(words, dtype=np.uint64)


@functools.cache
def powers_of_ten() -> NDArray[np.float64]:
    """The powers of ten that are doubles."""
    return np.array([float(10**q) for q in range(_EXACT_POWER + 1)])


@inlined_helper
def short_decimal(text: Any, place: int, tens: Any) -> tuple[float, int, bool]:
    """The same as ``decimal`` for a number of at most 15 digits without an exponent, by words of eight digits.

    ``WORD`` bytes of memory must follow the text.
    """
    first = text[place]
    if first == _MINUS or first == _PLUS:  # noqa: SIM109 (a tuple is slower)
        place += 1
    whole, count = digits(text, place)
    place += count
    value, decided = float(whole), 0 < count < WORD
    if text[place] == _POINT:
        part, after = digits(text, place + 1)
        place += 1 + after
        fraction = float(part)
        if after == WORD:
            part, more = digits(text, place)
            fraction = fraction * tens[more] + float(part)
            place += more
            after += more
        decided = count < WORD and 0 < count + after <= _EXACT_DIGITS
        if decided:
            # both whole numbers are exact, and the quotient rounds once
            value = (value * tens[after] + fraction) / tens[after]
    return (-value if first == _MINUS else value), place, decided


@helper
def decimal(text: Any, place: int, fives: Any, tens: Any) -> tuple[float, int, bool]:
    """The number that begins at a place of text, the place after it, and whether it was decided here.

    ``text`` must end with a byte that belongs to no number.
    """
    first = text[place]
    if first == _MINUS or first == _PLUS:  # noqa: SIM109 (a tuple is slower)
        place += 1
    mantissa, exponent, digits, fits = 0, 0, 0, True
    while _ZERO <= text[place] <= _NINE:
        fits = fits and mantissa < _ROOM
        mantissa = mantissa * 10 + (int(text[place]) - _ZERO) if fits else mantissa
        place += 1
        digits += 1
    if text[place] == _POINT:
        place += 1
        start = place
        while _ZERO <= text[place] <= _NINE:
            fits = fits and mantissa < _ROOM
            mantissa = mantissa * 10 + (int(text[place]) - _ZERO) if fits else mantissa
            place += 1
        exponent = start - place
        digits -= exponent
    decided = fits and digits > 0
    if text[place] == _SMALL_E or text[place] == _BIG_E:
        place += 1
        down = text[place] == _MINUS
        if down or text[place] == _PLUS:
            place += 1
        written, decided = 0, decided and _ZERO <= text[place] <= _NINE
        while _ZERO <= text[place] <= _NINE:
            written = min(written * 10 + (int(text[place]) - _ZERO), _FAR_EXPONENT)
            place += 1
        exponent += -written if down else written
    value = 0.0
    if decided:
        if mantissa <= _EXACT and -_EXACT_POWER <= exponent <= _EXACT_POWER:
            value = float(mantissa)
            value = value / tens[-exponent] if exponent < 0 else value * tens[exponent]
        elif mantissa != 0:
            value, decided = _nearest(np.uint64(mantissa), exponent, fives)
    return (-value if first == _MINUS else value), place, decided


@helper
def _nearest(w: Any, q: int, fives: Any) -> tuple[float, bool]:
    """The double nearest to w 10^q for w > 0, and whether the leading 128 bits of w 5^q decide it."""
    if q < _SMALLEST or q > _LARGEST:
        return 0.0, False
    zeros = 0
    for shift in _SHIFTS:
        if w >> (np.uint64(64) - shift) == 0:
            w = w << shift
            zeros += int(shift)
    z, low = _product(w, fives[q - _SMALLEST, 0])
    if z & _UNDECIDED == _UNDECIDED:
        more, _ = _product(w, fives[q - _SMALLEST, 1])
        if more > _FULL - low:
            z += _ONE
            low = more - (_FULL - low) - _ONE
        else:
            low += more
    if low == _FULL:
        return 0.0, False
    upper = z >> _TOP
    m = z >> (upper + np.uint64(9))
    # floor(log2(10^q)) is (217706 q) >> 16 for all q here
    p = ((217706 * q) >> 16) + 63 + int(upper) - zeros
    if p < -1022 or p > 1022 or (low <= _ONE and m & _THREE == _ONE):
        return 0.0, False
    m = (m + (m & _ONE)) >> _ONE
    return math.ldexp(float(int(m)), int(p - 52)), True


@helper
def _product(a: Any, b: Any) -> tuple[Any, Any]:
    """The high and the low word of a product of two words."""
    a_high, a_low, b_high, b_low = a >> _HALF, a & _LOW, b >> _HALF, b & _LOW
    low = a_low * b_low
    middle = a_high * b_low + (low >> _HALF)
    other = a_low * b_high + (middle & _LOW)
    return a_high * b_high + (middle >> _HALF) + (other >> _HALF), (other << _HALF) | (low & _LOW)
