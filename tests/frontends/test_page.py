"""The page on front ends: its transcripts are what the programs print."""

import os
import re
import subprocess
from pathlib import Path

import fenchel
from fenchel.frontends.liblinear import options as liblinear
from fenchel.frontends.svmperf import options as svmperf

PAGE = Path(__file__).resolve().parents[2] / "docs" / "front-ends.md"
#: processor seconds differ
SECONDS = re.compile(r"(?<=cpu-seconds: )[\d.]+")


def executed(command):
    """The status and the output of an executable that the page has installed."""
    environment = {**os.environ, "PYTHONPATH": str(Path(fenchel.__file__).parents[1])}
    done = subprocess.run(command.split(), capture_output=True, text=True, env=environment)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_the_transcripts_of_the_page(call, folder):
    page = PAGE.read_text(encoding="utf-8")
    (rows,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    (folder / "flowers").write_text(rows)
    transcripts = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    commands = re.findall(r"^\$ (.*)\n((?:[^$].*\n|\n)*)", "".join(transcripts), re.MULTILINE)
    programs = {" ".join(command.split()[:3]) for command, _ in commands}
    own = {"fenchel liblinear train", "fenchel liblinear predict", "fenchel svmperf learn", "fenchel svmperf classify"}
    assert programs == {*own, "fenchel install-frontends programs", "programs/predict flowers flowers.model"}
    for command, said in commands:
        if command.startswith("fenchel "):
            found = call(command.removeprefix("fenchel "))
            status, out = found.status, found.out
        else:
            status, out = executed(command)
        assert status == 0
        assert SECONDS.sub("0", out) == SECONDS.sub("0", said)


def test_the_page_names_every_option():
    page = PAGE.read_text(encoding="utf-8")
    for usage in (liblinear._TRAIN_USAGE, liblinear._PREDICT_USAGE, svmperf._LEARN_USAGE, svmperf._CLASSIFY_USAGE):
        for option in re.findall(r"(?:^|\s)(--?[a-zA-Z#])\b", usage, re.MULTILINE):
            assert re.search(rf"`(?:predict )?{option}i?\b|`{option}`", page), option
