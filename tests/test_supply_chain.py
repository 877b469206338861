"""What CI installs is pinned with hashes, and every package has its licence on the page."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
#: what .ci/run installs
LOCKED = ("plot", "dask", "test", "lint")
PERMISSIVE = {
    "MIT",
    "MIT-CMU",
    "Apache-2.0 WITH LLVM-exception",
    "BSD",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "Apache-2.0",
    "PSF-2.0",
    "0BSD",
    "Zlib",
    "CC0-1.0",
}


def name_of(requirement):
    return re.split(r"[\s<>=!~;\[]", requirement, maxsplit=1)[0].lower().replace("_", "-").replace(".", "-")


def pins(name):
    """{package: hashes} of a requirements file."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text().replace("\\\n", " ")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==\S+", line[0]) for line in lines)
    return {name_of(line[0]): line[1:] for line in lines}


def direct(*extras):
    """The requirements of ``pyproject.toml``."""
    groups = PROJECT["project"]["optional-dependencies"]
    return {name_of(entry) for extra in extras for entry in groups[extra]} | {
        name_of(entry) for entry in PROJECT["project"]["dependencies"]
    }


def licences():
    """{table: {package: licence}} of the page."""
    tables = {}
    for part in (ROOT / "docs" / "licences.md").read_text().split("\n## ")[1:]:
        rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("| ")][1:]
        tables[part.splitlines()[0]] = {row[0].strip(): row[1].strip() for row in rows}
    return tables


@pytest.mark.parametrize("name", ["build", "ci"])
def test_every_pin_has_hashes(name):
    for package, hashes in pins(name).items():
        assert hashes, package
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes), package


def test_every_requirement_is_pinned():
    assert direct(*LOCKED) <= set(pins("ci"))
    assert {name_of(entry) for entry in PROJECT["build-system"]["requires"]} | {"pip", "editables"} <= set(
        pins("build")
    )


def test_every_package_has_its_licence_on_the_page():
    listed = {package: licence for table in licences().values() for package, licence in table.items()}
    needed = direct(*PROJECT["project"]["optional-dependencies"]) | set(pins("ci")) | set(pins("build"))
    assert needed <= set(listed), "run make licences"
    assert all(listed.values())


def test_what_users_install_has_permissive_licences():
    tables = list(licences().values())
    for package, licence in {**tables[0], **tables[1]}.items():
        parts = [part.strip("() ") for part in re.split(r" AND | OR ", licence)]
        assert set(parts) <= PERMISSIVE, f"{package}: {licence}"


def test_no_address_of_a_registry_is_written_down():
    for path in (ROOT / "requirements").iterdir():
        if path.is_file():
            assert not re.search(r"index-url|find-links|https?://|file://", path.read_text()), path.name
