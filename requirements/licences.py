"""Write docs/licences.md: the licence of every package that Fenchel, its tests, linters, pages and benchmarks need.

``make licences`` runs this.  pip reports the metadata of the packages that it would install; nothing is installed.
"""

from __future__ import annotations

import tomllib

from lock import BUILD, HERE, name_of, report

PAGE = HERE.parent / "docs" / "licences.md"
HEAD = """# Licences of the dependencies

Written by `make licences` from the metadata of the packages. A package is listed once, in the first table that needs
it; only the packages of the first table are installed with Fenchel. Fenchel itself has the 3-clause BSD licence and
contains no code of any of them.
"""
TITLES = {
    "run": "Fenchel itself",
    "plot": "Plots and the progress line, `fenchel[plot]`",
    "onnx": "Graphs for onnxruntime, `fenchel[onnx]`",
    "dask": "Data on the workers of a cluster, `fenchel[dask]`",
    "build": "Building the package",
    "lint": "Linters, `make lint`",
    "test": "Tests, `make test`",
    "docs": "Pages, `make docs`",
    "bench": "Benchmarks, `make bench`: the peers",
    "interchange": "Libraries that tests run with ours, `fenchel[interchange]`",
}
#: from the classifiers of packages whose metadata have no licence expression
CLASSIFIERS = {
    "BSD License": "BSD",
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}


def licence(metadata: dict) -> str:
    """The licence expression, or the classifiers, or the first line of the licence field."""
    if metadata.get("license_expression"):
        return metadata["license_expression"]
    classifiers = [entry.split(" :: ")[-1] for entry in metadata.get("classifier", []) if entry.startswith("License")]
    known = [CLASSIFIERS.get(entry, entry) for entry in classifiers if entry != "OSI Approved"]
    if known:
        return " OR ".join(known)
    return next(iter((metadata.get("license") or "").splitlines()), "") or "not stated"


def groups() -> dict[str, list[str]]:
    """The requirements of each table, with those of the tables that it builds on."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())
    run, extras = project["project"]["dependencies"], project["project"]["optional-dependencies"]
    build = [*project["build-system"]["requires"], *BUILD]
    others = {name: [*run, *extras[name]] for name in TITLES if name in extras}
    return {"run": run, "plot": others.pop("plot"), "build": build, **others}


def main() -> None:
    """Write the page."""
    lines, listed = [HEAD], set()
    for group, requirements in groups().items():
        found = report(requirements)
        if found is None:
            raise SystemExit(f"pip found no versions of {group} that fit together")
        lines.append(f"\n## {TITLES[group]}\n\n| package | licence | needed by |\n|---|---|---|\n")
        for item in sorted(found, key=name_of):
            name, metadata = name_of(item), item["metadata"]
            if name not in listed:
                listed.add(name)
                why = "a requirement" if item["requested"] else "another package"
                lines.append(f"| {name} | {licence(metadata)} | {why} |\n")
    PAGE.write_text("".join(lines))


if __name__ == "__main__":
    main()
