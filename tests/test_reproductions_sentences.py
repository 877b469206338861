"""Sentences with figures on the pages of the papers are compared with the stored runs.

``sentences_<paper>.py`` computes them from the results, as they have to stand on the page, and asserts what words say.
"""

import importlib
import re

import pytest

from test_reproductions_page import ROOT

#: the sections in which every paragraph with a figure has a sentence that is compared
FINDINGS = {
    "saha2009": ("The paper's sentences", "Why pragam is slow on a9a", "Restarts"),
    "wang2021": ("What was found",),
    "zhang2002": ("What was found",),
    "zhang2012": ("What was found",),
}
_FIGURE = re.compile(r"\d\.\d|\de-\d")
#: what is numbered in a paper
_NUMBERED = re.compile(r"(?:Theorem|Proposition|Sec\.) [\d.]+")


@pytest.fixture(params=FINDINGS)
def paper(request, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return request.param


def page_of(paper):
    return (ROOT / "reproductions" / paper / "README.md").read_text(encoding="utf-8")


def sentences_of(paper):
    return importlib.import_module(f"sentences_{paper}").sentences()


def test_figures_of_the_pages_are_those_of_the_stored_runs(paper):
    page = page_of(paper)
    missing = [f"{name}: {sentence}" for name, sentence in sentences_of(paper).items() if sentence not in page]
    assert not missing, "the page does not say\n" + "\n".join(missing)


def test_every_finding_with_a_figure_is_compared(paper):
    compared = list(sentences_of(paper).values())
    sections = re.split(r"^#+ ", page_of(paper), flags=re.MULTILINE)
    found = [text for text in sections if text.partition("\n")[0] in FINDINGS[paper]]
    assert len({text.partition("\n")[0] for text in found}) == len(FINDINGS[paper])
    lines = [line for text in found for line in text.splitlines() if _FIGURE.search(_NUMBERED.sub("", line))]
    assert lines
    open_ = [line for line in lines if not any(sentence in line for sentence in compared)]
    assert not open_, "nothing of this is compared with the stored runs:\n" + "\n".join(open_)
