"""The pictures in a real browser: nothing overlaps, nothing is clipped, in both themes. Needs chromium."""

import html
import json
import os
import re
import shutil
import subprocess

import pytest
import test_seen

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
REQUIRED = os.environ.get("DNNMOVE_REQUIRE_CHROMIUM") == "1"
pytestmark = [
    pytest.mark.unsanitized,
    pytest.mark.skipif(CHROMIUM is None and not REQUIRED, reason="chromium is not installed"),
]

# Says of every text whether it lies in the picture, in its box, and apart from the other texts.
LOOK = """
<pre id="found"></pre>
<script>
const found = {texts: [], outside: [], meeting: [], leaving: []};
for (const svg of document.querySelectorAll("svg")) {
  const page = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].map(e => [e.lastChild.textContent, e.getBoundingClientRect()]);
  const boxes = [...svg.querySelectorAll("rect:not(.dnnmove-page)")].map(e => e.getBoundingClientRect());
  texts.forEach(([text, a], i) => {
    found.texts.push(text);
    const across = a.left >= page.left && a.right <= page.right;
    if (!across || a.top < page.top || a.bottom > page.bottom) found.outside.push(text);
    for (const b of boxes) {
      const inside = a.left >= b.left && a.right <= b.right && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
      const apart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top + 2 || b.bottom <= a.top + 2;
      if (!inside && !apart) found.leaving.push(text);
    }
    texts.slice(i + 1).forEach(([other, b]) => {
      const across = a.left < b.right && b.left < a.right;
      if (across && a.top + 3 < b.bottom && b.top + 3 < a.bottom) found.meeting.push([text, other]);
    });
  });
}
document.getElementById("found").textContent = JSON.stringify(found);
</script>
"""


def browse(tmp_path, *options):
    if CHROMIUM is None:
        pytest.fail("DNNMOVE_REQUIRE_CHROMIUM=1, but there is no chromium")
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    command += ["--hide-scrollbars", f"--user-data-dir={tmp_path / 'profile'}", *options]
    return subprocess.run(command, capture_output=True, timeout=120, check=True).stdout.decode()


@pytest.mark.parametrize("name", test_seen.CHAINS)
def test_no_text_is_clipped_and_none_covers_another(tmp_path, name):
    chain = test_seen.CHAINS[name]()
    page = tmp_path / "page.html"
    page.write_text(f"<!DOCTYPE html><meta charset='utf-8'><body>{chain._repr_html_()}{LOOK}", encoding="utf-8")
    dom = browse(tmp_path, "--dump-dom", page.as_uri())
    found = json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL).group(1)))
    assert found["outside"] == found["meeting"] == found["leaving"] == []
    assert sorted(found["texts"]) == sorted(test_seen.texts(chain.draw()))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_screenshot_of_a_file(tmp_path, theme):
    image = pytest.importorskip("PIL.Image")
    picture, shot = tmp_path / "chain.svg", tmp_path / "shot.png"
    test_seen.CHAINS["two branches"]().draw(picture)
    size = [
        round(float(value)) for value in re.search(r'width="([\d.]+)" height="([\d.]+)"', picture.read_text()).groups()
    ]
    dark = (
        ["--blink-settings=preferredColorScheme=0"] if theme == "dark" else ["--blink-settings=preferredColorScheme=1"]
    )
    browse(tmp_path, f"--screenshot={shot}", f"--window-size={size[0]},{size[1]}", *dark, picture.as_uri())
    pixels = image.open(shot).convert("L")
    assert pixels.size == tuple(size)
    colours = pixels.getcolors(1 << 16)
    background = max(colours)[1]
    assert (background < 64) == (theme == "dark")
    ink = sum(count for count, value in colours if abs(value - background) > 100)
    assert ink > 3000  # of letters
    # Drawn to the edges of the text, on all sides: neither blank nor cut off.
    box = pixels.point([255 if abs(value - background) > 60 else 0 for value in range(256)]).getbbox()
    assert box[0] < 60
    assert box[1] < 60
    assert size[0] - 60 < box[2] <= size[0] - 4
    assert size[1] - 60 < box[3] <= size[1] - 4


def test_tables_in_a_notebook_page(tmp_path):
    page = tmp_path / "page.html"
    tables = [thing._repr_html_() for thing, _ in test_seen.THINGS.values()]
    page.write_text(f"<!DOCTYPE html><meta charset='utf-8'><body>{''.join(tables)}", encoding="utf-8")
    dom = browse(tmp_path, "--dump-dom", page.as_uri())
    for name in test_seen.THINGS:
        assert name in dom
