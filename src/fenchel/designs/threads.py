"""Products with X whose row blocks are shared among threads; the result is the same to the last bit.

``solve`` sets the number of threads for all products that its thread makes, those of certificates among them.  Blocks
and the order in which they are added do not depend on it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import NamedTuple, TypeVar

Block = TypeVar("Block")
Product = TypeVar("Product")


class _Threads(NamedTuple):
    number: int
    pool: ThreadPoolExecutor


#: of this thread; None: it makes its products alone
_threads: ContextVar[_Threads | None] = ContextVar("threads", default=None)


@contextmanager
def products_in_threads(count: int) -> Iterator[None]:
    """Let this thread share the row blocks of its products with X among ``count`` threads."""
    if count <= 1:
        yield
        return
    # threads start with the first block
    with ThreadPoolExecutor(count) as pool:
        token = _threads.set(_Threads(count, pool))
        try:
            yield
        finally:
            _threads.reset(token)


def shares_products() -> bool:
    """Whether there are several threads."""
    return _threads.get() is not None


def in_order(
    work: Callable[[slice, Block], Product], blocks: Iterator[tuple[slice, Block]], together: int = 1
) -> Iterator[tuple[slice, Product]]:
    """Yield the rows and the product of each block, in the order of the blocks.

    A thread takes ``together`` blocks at a time: between two of them it needs the interpreter.
    """
    threads = _threads.get()
    if threads is None:
        for rows, block in blocks:
            yield rows, work(rows, block)
        return
    pending: deque[Future[list[tuple[slice, Product]]]] = deque()
    for group in iter(lambda: list(islice(blocks, together)), []):
        pending.append(threads.pool.submit(_products, work, group))
        # products that wait to be added take memory
        if len(pending) > threads.number:
            yield from pending.popleft().result()
    for products in pending:
        yield from products.result()


def _products(work: Callable[[slice, Block], Product], group: list[tuple[slice, Block]]) -> list[tuple[slice, Product]]:
    return [(rows, work(rows, block)) for rows, block in group]
