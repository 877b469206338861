"""Commands of README and the pages: blocks for a shell run, and every script, target and test that is named exists."""

import lzma
import re
import shlex
import tomllib
from pathlib import Path

import numpy as np
import pytest

import transcripts
from fenchel.cli.main import main

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
#: languages of blocks: Python, which tests/test_docs.py runs, commands, output, and directives of Sphinx
LANGUAGES = {"python", "console", "text"}
#: blocks of Python that other tests run, where the libraries that they need are installed
ELSEWHERE = {"larger-data.md": 1, "interchange.md": 2, "front-ends.md": 1}


def text_of(page):
    return page.read_text(encoding="utf-8")


def shell_blocks(page):
    """The blocks of commands without their output."""
    return [
        one for one in re.findall(r"^```console\n(.*?)^```", text_of(page), re.DOTALL | re.MULTILINE) if "$" not in one
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_block_of_code_escapes_the_tests(page):
    fences = re.findall(r"^ *```+([^\s`]*)", text_of(page), re.MULTILINE)
    opened = [one for one in fences if one and not one.startswith("{")]
    assert opened.count("py") == ELSEWHERE.get(page.name, 0)
    assert set(opened) <= LANGUAGES | {"py"}
    # an indented block would be code that nothing runs
    prose = re.sub(r"^ *```.*?^ *```$", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    indented = re.findall(r"\n\n    (?:import|from|print|def|model) .*", prose)
    assert not indented


def data(folder):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3)).round(3)
    lines = [f"{1 if x[0] > 0 else -1} 1:{x[0]} 2:{x[1]} 3:{x[2]}" for x in X]
    (folder / "train.svm").write_text("\n".join(lines) + "\n")
    (folder / "test.svm").write_text("\n".join(lines[:5]) + "\n")
    (folder / "train.svm.xz").write_bytes(lzma.compress((folder / "train.svm").read_bytes()))


@pytest.mark.parametrize("page", [page for page in PAGES if shell_blocks(page)], ids=lambda page: page.name)
def test_the_commands_of_a_page_run(page, tmp_path, monkeypatch):
    data(tmp_path)
    monkeypatch.chdir(tmp_path)
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for line in "".join(shell_blocks(page)).splitlines():
        words = shlex.split(line, comments=True)
        if words[0] == "fenchel":
            assert main(words[1:]) == 0, line
        elif words[0] == "make":
            assert words[1] in targets, line
        else:
            assert words[:2] == ["pip", "install"], line
            assert set(re.findall(r"\[(\w+)\]", line)) <= set(extras), line


def test_the_transcript_of_the_page_on_sequences(tmp_path, monkeypatch):
    page = text_of(DOCS / "sequences.md")
    files = re.findall(r"`(\w+\.conll)`\n\n```text\n(.*?)```", page, re.DOTALL)
    assert {name for name, _ in files} == {"train.conll", "new.conll"}
    for name, content in files:
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for command, expected in transcripts.transcript(page):
        printed = transcripts.run(command, main)
        assert not transcripts.differs(expected, printed), f"{command}\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_scripts_targets_and_tests_that_are_named_exist(page):
    text = text_of(page)
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([\w-]+)", text)) <= targets
    named = re.findall(r"`(?:[A-Z]\w*=\S+ )*(?:python|pytest)(?: --?[\w-]+)* ([\w/-]+\.(?:py|md)|tests/[\w/]+)", text)
    assert not [one for one in named if not (ROOT / one).exists()]
