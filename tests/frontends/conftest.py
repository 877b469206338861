"""Folders and calls that the tests of the front ends share."""

import pytest

from fenchel.cli.main import main


class Called:
    """What a program printed, and its exit status."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(folder, capsys):
    """A function that runs ``fenchel`` with the words of a line."""

    def run(line):
        capsys.readouterr()
        status = main(line.split())
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Called(status, said.out, said.err)

    return run
