"""Digits eight at a time: the number and the count of digits, and short decimals as ``float`` reads them."""

import numpy as np
import pytest

from fenchel.compile.loop import loop
from fenchel.compile.primitives.decimals import powers_of_ten, short_decimal
from fenchel.compile.primitives.digits import WORD, digits


@loop
def digits_at(text, place):
    return digits(text, place)


@loop
def decimal_at(text, tens):
    return short_decimal(text, 0, tens)


def padded(text):
    """The bytes of a text, with more digits in the memory behind them."""
    return np.frombuffer(text + b"9" * WORD, dtype=np.uint8)[: len(text)]


@pytest.mark.parametrize("end", [b" ", b":", b"/", b"\x00", b"\xb0", b"\xff", b"\n"])
def test_every_count_of_digits_before_every_kind_of_byte(end):
    for written in (b"", b"0", b"7", b"10", b"099", b"1234", b"98765", b"000001", b"7654321", b"12345678", b"99999999"):
        text = b"x" + written + end
        expected = int(written or b"0"), len(written)
        assert digits_at(padded(text), 1) == expected
        assert digits(padded(text), 1) == expected


def test_random_decimals_are_those_of_float():
    rng, decided_ones = np.random.default_rng(0), 0
    for _ in range(3000):
        whole, part = ("".join(map(str, rng.integers(10, size=rng.integers(size)))) for size in (9, 18))
        point = "." if part or rng.random() < 0.5 else ""
        written = f"{rng.choice(['', '-', '+'])}{whole}{point}{part}"
        text = np.frombuffer(written.encode() + b"\n" + bytes(WORD), dtype=np.uint8)[: len(written) + 1]
        value, place, decided = decimal_at(text, powers_of_ten())
        plain = short_decimal(text, 0, powers_of_ten())
        assert decided == plain[2] == (len(whole) < WORD and 0 < len(whole) + len(part) <= 15)
        if decided:
            assert (value, place) == plain[:2] == (float(written), len(written))
            decided_ones += 1
    assert decided_ones > 1000
