"""Compilation: the decorator behind which numba compiles, its cache on disk, and dispatch on losses and storages."""
