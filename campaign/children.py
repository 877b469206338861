"""Processes that the campaign starts, and how they end."""

import os
import subprocess

from campaign import PROJECT


def environment_of_children(**more):
    """The variables of a child: this checkout, one thread, no warnings."""
    return {
        **os.environ,
        "PYTHONPATH": str(PROJECT / "src"),
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
        **more,
    }


def ended_child(process):
    """What a process printed on both streams; None if it goes on for two minutes, and is killed."""
    try:
        return process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
