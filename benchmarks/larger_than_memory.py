"""Fits over a store that is larger than the memory they may have, and their throughput beside the disk's.

    python benchmarks/larger_than_memory.py --gigabytes 12 --folder /somewhere/with/space

Writes a dense store of float32 (500 features; the sign of a linear function with noise), and fits it to a relative gap
of 1e-2 with the logistic loss, with the hinge, and for the ROC area, each in a process that may allocate 3 GB
(RLIMIT_DATA) and is given ``memory_limit="2GB"``; for a store of less than 12 GB both are proportionally smaller, and
RLIMIT_DATA (150 MB at least) is beside what the process has after a small fit, with libraries and compiled loops.  The
page cache is emptied of the store before each fit, and again whenever the fit has read as much as its memory_limit from
the disk, as on a machine without memory to spare, unless ``--cached`` leaves it alone.  Before each fit the disk is
measured by reading 2 GB of the store in order; ``--products`` does so in turn with products with these 2 GB.  Memory is
the largest RssAnon, sampled every 50 ms: what the process has beside mapped files.  The store is removed.
"""

from __future__ import annotations

import argparse
import json
import math
import mmap
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from fenchel import LinearClassifier, MeasureClassifier
from fenchel.designs import as_design
from fenchel.io import StoreWriter, open_store

FEATURES, BLOCK = 500, 20_000
#: of a store of 12 GB, in bytes
MEMORY, DATA, FULL = 2.0e9, 3.0e9, 12.0e9
#: what a process may allocate at least, in bytes, beside libraries and compiled loops
LEAST = 1.5e8
LOSSES = ("logistic", "hinge", "roc_auc")
#: bytes that are read to measure the disk, and rounds of products beside it
MEASURED, ROUNDS = 2.0e9, 3


def make(path: Path, size: float) -> None:
    """Write a store of this number of bytes."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal(FEATURES, dtype=np.float32) / np.sqrt(FEATURES)
    with StoreWriter(path) as writer:
        for _ in range(max(1, int(size / (4 * FEATURES * BLOCK)))):
            X = rng.standard_normal((BLOCK, FEATURES), dtype=np.float32)
            writer.append(X, np.where(X @ w + rng.standard_normal(BLOCK) > 0.0, 1, -1))


def evict(path: Path) -> None:
    """Remove the files of a store from the page cache."""
    for file in path.iterdir():
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def disk(path: Path) -> float:
    """Bytes a second of reading the first rows of a store in order."""
    evict(path)
    begin = time.perf_counter()
    return read(path) / (time.perf_counter() - begin)


def read(path: Path) -> int:
    """Read the first rows of a store; return their bytes."""
    total, buffer = 0, bytearray(1 << 23)
    with (path / "values.bin").open("rb", buffering=0) as stream:
        while total < MEASURED and (count := stream.readinto(buffer)):
            total += count
    return total


def products(path: Path, share: float) -> None:
    """Print bytes a second of reading a part of the store in order, and of products with it, cold and in turn."""
    store = open_store(path, memory_limit=MEMORY * share, verify=False)
    rows = min(len(store.y), int(MEASURED / (4 * FEATURES)))
    design, size = as_design(store.X[:rows]), 4.0 * FEATURES * rows
    w, theta = np.linspace(-1.0, 1.0, FEATURES), np.linspace(-1.0, 1.0, rows)
    work = {"read": lambda: read(path), "X w": lambda: design.scores(w), "X^T theta": lambda: design.adjoint(theta)}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in work}
    for _ in range(ROUNDS):
        for name, run in work.items():
            file_map(store.X).madvise(mmap.MADV_DONTNEED)
            evict(path)
            begin, processor = time.perf_counter(), time.process_time()
            run()
            found[name].append((time.perf_counter() - begin, time.process_time() - processor))
    print("| work | MB/s, median | least | most | processor s a GB |\n|---|---|---|---|---|")
    for name, pairs in found.items():
        rates = sorted(size / elapsed / 1e6 for elapsed, _ in pairs)
        busy = np.median([processor for _, processor in pairs]) / size * 1e9
        print(f"| {name} | {np.median(rates):,.0f} | {rates[0]:,.0f} | {rates[-1]:,.0f} | {busy:.2f} |")


def status(name: str) -> int:
    """A number of kB that the system has of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def bytes_read() -> int:
    """The bytes that this process made the system read from the disk."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))


def file_map(values: np.ndarray) -> mmap.mmap:
    """The map of the file that an array is a view of."""
    base: object = values
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, mmap.mmap)
    return base


@contextmanager
def watched(path: Path, rows: np.ndarray, cached: float) -> Iterator[list[float]]:
    """The largest RssAnon of this process in MB, in a list, while the block runs.

    Whenever ``cached`` bytes have been read from the disk, the store is removed from the page cache again.
    """
    most, done, mapped = [0.0], threading.Event(), file_map(rows)

    def watch() -> None:
        last = bytes_read()
        while not done.wait(0.05):
            most[0] = max(most[0], status("RssAnon") / 1024)
            if bytes_read() - last > cached:
                # pages that a process maps stay in the cache
                mapped.madvise(mmap.MADV_DONTNEED)
                evict(path)
                last = bytes_read()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        done.set()
        thread.join()


def fit(path: Path, loss: str, share: float, cached: float | None) -> dict[str, float]:
    """One fit in this process, within its limits; ``cached`` bytes of the store may be in the page cache."""
    rate = disk(path)
    limit = MEMORY * share
    store = open_store(path, memory_limit=limit, verify=False)
    options = {"tol": 1e-2, "random_state": 0}
    model = MeasureClassifier("roc_auc", **options) if loss == "roc_auc" else LinearClassifier(loss, **options)
    small = slice(0, 2000)
    type(model)(**model.get_params()).fit(store.X[small], store.y[small])  # compiles the loops
    data = int(min(DATA, 1024.0 * status("VmData") + max(LEAST, DATA * share)))
    resource.setrlimit(resource.RLIMIT_DATA, (data, data))
    file_map(store.X).madvise(mmap.MADV_DONTNEED)
    evict(path)
    with watched(path, store.X, limit if cached is None else cached) as most:
        begin, processor, read = time.perf_counter(), time.process_time(), bytes_read()
        model.fit(store.X, store.y)
        seconds, processor = time.perf_counter() - begin, time.process_time() - processor
        read = bytes_read() - read
    return {
        "seconds": seconds,
        "processor": processor,
        "passes": float(model.trace_[-1].passes),
        "gap": model.certificate_.relative_gap,
        "anonymous": most[0],
        "limit": data / 1e6,
        "read": read / 1e9,
        "disk": rate / 1e6,
        "load": os.getloadavg()[1],
    }


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--folder", type=Path, default=Path("."), help="where the store is written")
    parser.add_argument("--losses", nargs="+", default=LOSSES, choices=LOSSES)
    parser.add_argument("--products", action="store_true", help="measure products with X beside the disk, and no fits")
    parser.add_argument("--cached", action="store_true", help="leave the page cache alone while a fit runs")
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    size = options.gigabytes * 1e9
    if options.store is not None and options.products:
        products(options.store, min(1.0, size / FULL))
        return
    if options.store is not None:
        cached = math.inf if options.cached else None
        print(json.dumps(fit(options.store, options.losses[0], min(1.0, size / FULL), cached)))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "large.store"
        make(path, size)
        stored = sum(file.stat().st_size for file in path.iterdir())
        print(f"store of {stored / 1e9:.2f} GB, {FEATURES} features")
        head = "objective | gap proved | passes | seconds | processor s | GB read | MB/s read | MB/s of the disk | load"
        print(f"| {head} | RssAnon, MB | allowed, MB |\n|{'---|' * 11}", flush=True)
        if options.products:
            products(path, min(1.0, size / FULL))
            return
        for loss in options.losses:
            given = ["--gigabytes", str(options.gigabytes), "--losses", loss, "--store", str(path)]
            given += ["--cached"] if options.cached else []
            done = subprocess.run([sys.executable, __file__, *given], stdout=subprocess.PIPE, text=True, check=True)
            found = json.loads(done.stdout)
            numbers = f"{found['gap']:.1g} | {found['passes']:.1f} | {found['seconds']:.0f} | {found['processor']:.0f}"
            rates = f"{found['read']:.1f} | {1e3 * found['read'] / found['seconds']:,.0f} | {found['disk']:,.0f}"
            memory = f"{found['anonymous']:,.0f} | {found['limit']:,.0f}"
            print(f"| {loss} | {numbers} | {rates} | {found['load']:.1f} | {memory} |", flush=True)


if __name__ == "__main__":
    main()
