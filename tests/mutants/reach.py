"""A pytest plugin: which functions each test calls, and a run of the tests that call one of them.

``pytest -p reach --record-reach reach.json`` stores for each test its seconds and the functions of the mutated folders
that it calls (``file::qualified name``); a test longer than ``LONGEST`` seconds is interrupted and omitted.
``pytest -p reach --take-tests names.json`` runs the listed tests only, in that order.
"""

import json
import signal
import sys
import time
from pathlib import Path

import pytest

#: processor seconds; loops are not compiled in these runs, and a slower test is no help against many mutants
LONGEST = 2.0
FOLDERS = ("fenchel/certificate/", "fenchel/losses/", "fenchel/risks/")


class TooLong(BaseException):
    """Ends a test; not an Exception, so that no test expects it."""


def pytest_addoption(parser):
    parser.addoption("--record-reach", type=Path, help="store seconds and functions of each test in this file")
    parser.addoption("--take-tests", type=Path, help="run the tests that this file lists, in that order")


def pytest_configure(config):
    if config.getoption("record_reach"):
        config.pluginmanager.register(Recorder(config.getoption("record_reach")))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if config.getoption("take_tests"):
        names = json.loads(config.getoption("take_tests").read_text(encoding="utf-8"))
        found = {item.nodeid: item for item in items}
        items[:] = [found[name] for name in names if name in found]


class Recorder:
    """Traces calls, not lines: the only event that costs is the first call of a function in a test."""

    def __init__(self, path):
        self.path, self.tests, self.seen, self.failed = path, {}, set(), False

    def called(self, frame, event, argument):
        self.seen.add(frame.f_code)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        def stop(number, frame):
            raise TooLong

        self.seen, self.failed, begin = set(), False, time.process_time()
        signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
        sys.settrace(self.called)
        yield
        sys.settrace(None)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        seconds = time.process_time() - begin
        # one that fails without a mutant says nothing about mutants
        if not self.failed:
            named = {(code.co_filename.partition("/src/")[2], code.co_qualname) for code in self.seen}
            inside = [(file, name.replace("<locals>.", "")) for file, name in named if file.startswith(FOLDERS)]
            functions = sorted(f"{file}::{name}" for file, name in inside)
            self.tests[item.nodeid] = {"seconds": round(seconds, 3), "functions": functions}

    def pytest_runtest_logreport(self, report):
        self.failed |= report.failed

    def pytest_sessionfinish(self):
        self.path.write_text(json.dumps(self.tests), encoding="utf-8")
