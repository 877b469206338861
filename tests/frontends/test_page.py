"""The page on front ends: its transcripts are what the programs print."""

import re
from pathlib import Path

from fenchel.frontends.liblinear import options as liblinear
from fenchel.frontends.svmperf import options as svmperf

PAGE = Path(__file__).resolve().parents[2] / "docs" / "front-ends.md"
#: processor seconds differ
SECONDS = re.compile(r"(?<=cpu-seconds: )[\d.]+")


def test_the_transcripts_of_the_page(call, folder):
    page = PAGE.read_text(encoding="utf-8")
    (rows,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    (folder / "flowers").write_text(rows)
    transcripts = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    commands = re.findall(r"^\$ fenchel (.*)\n((?:[^$].*\n|\n)*)", "".join(transcripts), re.MULTILINE)
    programs = [" ".join(command.split()[:2]) for command, _ in commands]
    assert set(programs) == {"liblinear train", "liblinear predict", "svmperf learn", "svmperf classify"}
    for command, said in commands:
        found = call(command)
        assert found.status == 0
        assert SECONDS.sub("0", found.out) == SECONDS.sub("0", said)


def test_the_page_names_every_option():
    page = PAGE.read_text(encoding="utf-8")
    for usage in (liblinear._TRAIN_USAGE, liblinear._PREDICT_USAGE, svmperf._LEARN_USAGE, svmperf._CLASSIFY_USAGE):
        for option in re.findall(r"(?:^|\s)(--?[a-zA-Z#])\b", usage, re.MULTILINE):
            assert re.search(rf"`(?:predict )?{option}i?\b|`{option}`", page), option
