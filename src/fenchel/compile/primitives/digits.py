"""Up to eight decimal digits of text at once, in a word of 64 bits (Lemire 2021, Section 3).

A loop over digits waits for each product with ten, and its end is mispredicted for most numbers.  Here the number of
digits is that of the trailing zeros of a mask, and three products of words add all digits.
"""

from __future__ import annotations

import sys
from typing import Any

from fenchel.compile.registration import at_first_call

#: digits that are read at once, and the bytes that must follow a text
WORD = 8
_ZERO, _NINE = ord("0"), ord("9")


def digits(text: Any, place: int) -> tuple[int, int]:
    """The number that up to ``WORD`` digits at a place of text are, and how many they are.

    In compiled code ``WORD`` bytes are read, which may be after the end of ``text``: the caller keeps them in the
    memory behind it.
    """
    number, count = 0, 0
    while count < WORD and _ZERO <= text[place + count] <= _NINE:
        number = number * 10 + (int(text[place + count]) - _ZERO)
        count += 1
    return number, count


def _register() -> None:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.core.types.containers import UniTuple
    from numba.extending import intrinsic, overload

    @intrinsic
    def words_of(typing_context: Any, array: Any, position: Any) -> Any:
        """The number and the count, as above."""
        pair = UniTuple(types.int64, 2)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word = ir.IntType(64)

            def constant(value: int) -> Any:
                return ir.Constant(word, value)

            view = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = context.cast(builder, arguments[1], signature.args[1], types.intp)
            pointer = cgutils.get_item_pointer(context, builder, signature.args[0], view, [place], wraparound=False)
            loaded = builder.load(builder.bitcast(pointer, word.as_pointer()))
            loaded.align = 1
            # the first byte is the lowest
            found = loaded if sys.byteorder == "little" else builder.bswap(loaded)
            found = builder.xor(found, constant(0x3030303030303030))
            above = builder.or_(builder.add(found, constant(0x7676767676767676)), found)
            others = builder.and_(above, constant(0x8080808080808080))
            count = builder.lshr(builder.cttz(others, ir.Constant(ir.IntType(1), 0)), constant(3))
            # the digits to the top; a shift by all 64 bits is undefined, so by 8 and the rest
            rest = builder.shl(builder.sub(constant(WORD), builder.or_(count, _is_zero(builder, count))), constant(3))
            found = builder.shl(found, rest)
            tens = builder.add(builder.mul(found, constant(10)), builder.lshr(found, constant(8)))
            low, every = builder.and_(tens, constant(0x000000FF000000FF)), builder.lshr(tens, constant(16))
            high = builder.and_(every, constant(0x000000FF000000FF))
            total = builder.add(
                builder.mul(low, constant(0x000F424000000064)), builder.mul(high, constant(0x0000271000000001))
            )
            number = builder.lshr(total, constant(32))
            number = builder.select(builder.icmp_unsigned("==", count, constant(0)), constant(0), number)
            return context.make_tuple(builder, pair, (number, count))

        return pair(array, position), generate

    @overload(digits, inline="always")
    def compiled_digits(text: Any, place: Any) -> Any:
        def compiled(text: Any, place: Any) -> tuple[int, int]:
            return words_of(text, place)

        return compiled


def _is_zero(builder: Any, value: Any) -> Any:
    """1 if a word is zero, else 0."""
    return builder.zext(builder.icmp_unsigned("==", value, value.type(0)), value.type)


at_first_call(_register)
