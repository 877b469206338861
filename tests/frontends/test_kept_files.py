"""Front ends do not write over the files that they read."""

import pytest

DATA = "1 1:1 2:0.5\n-1 1:-1\n1 1:0.7\n-1 2:-0.8\n"


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("", "liblinear train -q data data"),
        ("", "liblinear train -q data link"),
        ("", "svmperf learn -c 1 data ./data"),
        ("liblinear train -q data model", "liblinear predict data model data"),
        ("liblinear train -q data model", "liblinear predict data model model"),
        ("svmperf learn -c 1 data model", "svmperf classify data model data"),
        ("svmperf learn -c 1 data model", "svmperf classify data model model"),
    ],
)
def test_no_input_is_replaced(folder, call, before, line):
    (folder / "data").write_text(DATA)
    (folder / "link").symlink_to("data")
    if before:
        assert call(before).status == 0
    model = (folder / "model").read_bytes() if before else None
    found = call(line)
    assert found.status == 1
    assert "is read as well; name another file" in found.out + found.err
    assert (folder / "data").read_text() == DATA
    assert model is None or (folder / "model").read_bytes() == model
