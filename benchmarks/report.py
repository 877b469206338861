"""Where results go: JSON under out/benchmarks/, and the sections of benchmarks/README.md between markers."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.data import OUT

README = Path(__file__).with_name("README.md")
RESULTS = OUT / "benchmarks"


def markdown_table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_json(file: Path, results: dict[str, Any]) -> None:
    """Results with the machine that they were measured on."""
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"machine": machine.describe(), **results}, indent=1, ensure_ascii=False)
    part = file.with_suffix(".part")
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(file)


def read_json(file: Path) -> dict[str, Any]:
    """Results of an earlier run; empty if there are none."""
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def update_readme(section: str, text: str) -> None:
    """Replace what stands between the markers of a section of the README."""
    replace_section(README, section, text)


def replace_section(file: Path, section: str, text: str) -> None:
    """Replace what stands between the markers of a section of a page."""
    begin, end = f"<!-- {section}:begin -->", f"<!-- {section}:end -->"
    page = file.read_text(encoding="utf-8")
    before, found_begin, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise ValueError(f"{file.name} has no section between {begin} and {end}")
    file.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")


def asked_to_update_readme(description: str | None) -> bool:
    """For scripts whose only option is ``--update-readme``."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--update-readme", action="store_true", help="rewrite the section in benchmarks/README.md")
    return bool(parser.parse_args().update_readme)
