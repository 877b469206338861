"""Reports in a real browser: everything renders, nothing overflows a phone, and the console is silent."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from fenchel import LinearClassifier
from fenchel.reporting import compare, report

pytest.importorskip("matplotlib", reason="reports need the plot extra")

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --enable-logging=stderr --virtual-time-budget=3000"
)
#: what a page says of itself, written into its title
ASKED = """<script>addEventListener("load", () => { document.title = JSON.stringify({
  wide: document.documentElement.scrollWidth, window: innerWidth,
  images: [...document.images].map(i => [i.naturalWidth, i.width]) }); });
</script></body>"""

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    X, y = load_breast_cancer(return_X_y=True)
    X = X / np.max(np.abs(X), axis=0)
    models = {name: LinearClassifier("logistic", solver=name, random_state=0) for name in ("newton", "dual_coordinate")}
    fitted = models["newton"].fit(X[::2], y[::2])
    names = ["<script>document.title='evil'</script>" + "long" * 20, *map(str, range(29))]
    report(fitted, X[::2], y[::2], folder / "report.html", X_test=X[1::2], y_test=y[1::2], feature_names=names)
    compare(models, X, y, folder / "compare.html")
    return folder


def opened(page, folder, width, *more):
    command = [BROWSER, *FLAGS.split(), f"--user-data-dir={folder / 'profile'}", f"--window-size={width},900", *more]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    assert "CONSOLE" not in done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["report", "compare"])
@pytest.mark.parametrize("width", [1280, 500])
def test_pages_render(name, width, pages, tmp_path):
    page = pages / f"{name}.html"
    text = page.read_text(encoding="utf-8")
    # the page as it is, in which no script may run
    assert "evil" not in re.search("<title>(.*?)</title>", opened(page, tmp_path, width, "--dump-dom"))[1]
    asked = tmp_path / "asked.html"
    asked.write_text(re.sub("<meta http-equiv=[^>]*>", "", text).replace("</body>", ASKED), encoding="utf-8")
    found = json.loads(re.search("<title>(.*?)</title>", opened(asked, tmp_path, width, "--dump-dom"))[1])
    assert found["wide"] <= found["window"]
    assert len(found["images"]) >= 2
    assert all(natural > 0 and 0 < shown <= width for natural, shown in found["images"])
    picture = tmp_path / "page.png"
    opened(page, tmp_path, width, f"--screenshot={picture}")
    assert picture.stat().st_size > 20_000
