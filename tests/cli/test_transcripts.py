"""The transcripts of the pages on the command line are what the commands print; every command has a page."""

import warnings
from pathlib import Path

import pytest

import transcripts
from fenchel.cli.main import main
from fenchel.cli.options import _COMMANDS

PAGES = Path(__file__).resolve().parents[2] / "docs" / "cli"


def test_every_command_has_a_page_that_is_in_the_contents():
    assert {path.stem for path in PAGES.glob("*.md")} == {"index", *_COMMANDS}
    contents = (PAGES / "index.md").read_text(encoding="utf-8").split("```{toctree}")[1]
    assert set(_COMMANDS) <= set(contents.split())


@pytest.mark.parametrize("name", _COMMANDS)
def test_a_transcript_is_what_the_commands_print(name, tmp_path, monkeypatch):
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    if name == "report":
        pytest.importorskip("fenchel.reporting", reason="reports need the plot extra")
    found = transcripts.transcript(page)
    assert any(command.startswith(f"fenchel {name}") or f"| fenchel {name}" in command for command, _ in found)
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for command, expected in found:
            printed = transcripts.run(command, main)
            assert not transcripts.differs(expected, printed, seconds=name == "compare"), f"{command}\n{printed}"


def test_differences_are_found():
    same, other = "C=0.1 proved 3.5e-05, 0.8123", "C=0.1 proved 4.1e-04, 0.8122"
    assert not transcripts.differs(same, other)
    assert transcripts.differs(same, "C=0.1 proved 4.1e-04, 0.9122")
    assert transcripts.differs(same, "C=0.1 shown 4.1e-04, 0.8122")
    assert transcripts.differs("1 2", "1")
    assert not transcripts.differs("0.123 s", "9.456 s", seconds=True)
