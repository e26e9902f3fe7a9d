"""The page in a real browser, headless Chromium: it loads nothing, runs nothing, leads where it says and can be read anywhere."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tilewise
from tilewise.core.finding import Finding
from tilewise.core.place import Place
from tilewise.core.report import Coverage, LaunchCoverage, Report
from tilewise.emu.machine import emulate
from tilewise.emu.requests import add_examples
from tilewise.render.html import write_html

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
PHONE = (360, 740)
SOURCE = """// out = in transposed, through a tile whose columns lie in one bank
extern "C" __global__ void transpose(const float* in, float* out, int n) {
    __shared__ float tile[32][32];
    tile[threadIdx.y][threadIdx.x] = in[(blockIdx.y * 32 + threadIdx.y) * n + blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    out[(blockIdx.x * 32 + threadIdx.y) * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
"""
CONFLICT = Finding(
    "perf.bank_conflict",
    "warning",
    "optimised",
    "32 lanes of a warp read 32 words of one bank",
    "pad the rows of tile by a word",
    (Place("transpose.cu", 6, 80, "transpose"),),
    "tile",
)
RACE = Finding("race.shared.raw", "error", "both", "a race", "a barrier", (Place("transpose.cu", 4), Place("transpose.cu", 6)))
PAYLOADS = (
    "</script><script>document.title='owned'</script>",
    "</style></code></pre><img src=http://127.0.0.1:9/x onerror=\"document.title='owned'\">",
    "'\"><svg onload=document.title='owned'><a href=javascript:document.title='owned'>go</a>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'><base href=http://127.0.0.1:9/>",
    "<link rel=stylesheet href=http://127.0.0.1:9/x.css><style>body{display:none}</style>",
    "\x00\x1b]0;owned\x07\u202eowned\ufeff",
)
CONTRAST = """() => {
    const light = c => { const v = c / 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    const parse = text => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
    const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
    const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3]));
    const behind = element => {
        const layers = [];
        for (let e = element; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
        return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
    };
    const worst = {};
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || element.closest('svg')) continue;
        const pair = [luminance(parse(getComputedStyle(element).color)), luminance(behind(element))].sort((a, b) => b - a);
        const name = element.tagName + '.' + element.className;
        worst[name] = Math.min(worst[name] ?? 99, (pair[0] + 0.05) / (pair[1] + 0.05));
    }
    return worst;
}"""

Opened = tuple["Page", list[str]]
Open = Callable[..., Opened]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    api = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium")
    with api.sync_playwright() as play:
        started = play.chromium.launch(executable_path=program, args=list(QUIET), chromium_sandbox=os.geteuid() != 0)
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Open a report's page; the list is of what the browser complained of, and of what the page asked for beside itself."""
    contexts = []

    def open_(report: Report, sources: dict[str, str], *, dark: bool = False, size: tuple[int, int] = (1280, 900)) -> Opened:
        path = tmp_path / "report.html"
        write_html(report, sources, path)
        viewport: Any = {"width": size[0], "height": size[1]}
        context = browser.new_context(viewport=viewport, color_scheme="dark" if dark else "light")
        contexts.append(context)
        page, heard = context.new_page(), list[str]()
        page.on("console", lambda message: heard.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: heard.append(f"error: {error}"))
        page.on("dialog", lambda dialog: heard.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: heard.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        page.wait_for_load_state("networkidle")
        return page, heard

    yield open_
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def report() -> Report:
    n = 64
    arrays = (np.ones((n, n), np.float32), np.zeros((n, n), np.float32), n)
    launch = tilewise.Launch(tilewise.compile(SOURCE, "transpose.cu"), "transpose", (2, 2, 1), (32, 32, 1), arrays)
    counters = add_examples(emulate(launch).counters, launch)
    covered = LaunchCoverage("transpose", launch.grid, launch.block, launch.cluster, 0)
    return Report((RACE, CONFLICT), Coverage(covered, 4, 4, ("optimised", "unoptimised"), ()), counters)


def test_page_loads_and_runs_nothing(open_page: Open, report: Report) -> None:
    page, heard = open_page(report, {"transpose.cu": SOURCE})
    assert heard == []
    assert page.title() == "findings: transpose"
    assert page.evaluate("document.scripts.length") == 0
    assert (
        page.evaluate("getComputedStyle(document.querySelector('.verdict')).backgroundColor") == "rgb(179, 38, 30)"
    )  # has its style


def test_links_lead_to_lines_and_back(open_page: Open, report: Report) -> None:
    page, _ = open_page(report, {"transpose.cu": SOURCE}, size=(1280, 300))
    page.click("#f1 a")
    line = page.locator(":target")
    assert line.locator(".number").inner_text() == "6"
    assert "tile[threadIdx.x][threadIdx.y]" in line.inner_text()
    assert page.evaluate(
        "(r => r.top >= 0 && r.bottom <= innerHeight)(document.querySelector(':target').getBoundingClientRect())"
    )
    line.locator("a", has_text="race.shared.raw").click()
    assert page.locator(":target").get_attribute("id") == "f0"
    assert "a race" in page.locator(":target").inner_text()


def test_picture_has_every_lane_on_one_bank(open_page: Open, report: Report) -> None:
    page, _ = open_page(report, {"transpose.cu": SOURCE})
    boxes = page.locator("svg .bad rect")
    places = [boxes.nth(index).bounding_box() for index in range(boxes.count())]
    assert len(places) == 32
    assert len({round(place["x"]) for place in places if place}) == 1
    assert len({round(place["y"]) for place in places if place}) == 32
    assert page.locator(".picture details[open]").count() == 1


@pytest.mark.parametrize("size", [PHONE, (820, 1180), (1920, 1080)])
def test_nothing_but_wide_tables_scrolls_sideways(open_page: Open, report: Report, size: tuple[int, int]) -> None:
    long = replace(CONFLICT, message="x" * 400, kind="perf." + "y" * 80, lines=(Place("/very/long" * 20 + ".cu", 3),))
    told = replace(report, findings=(*report.findings, long))
    page, _ = open_page(told, {"transpose.cu": SOURCE + "// " + "z" * 500}, size=size)
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert page.evaluate("parseFloat(getComputedStyle(document.querySelector('article p')).fontSize)") >= 16


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_in_both_schemes(open_page: Open, report: Report, dark: bool) -> None:
    """WCAG 2.1's AA: a contrast of at least 4.5 to 1."""
    told = replace(report, findings=(*report.findings, replace(RACE, kind="race.benign", severity="note")))
    page, _ = open_page(told, {"transpose.cu": SOURCE}, dark=dark)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(15, 19, 24)" if dark else "rgb(255, 255, 255)")
    too_faint = {name: round(ratio, 2) for name, ratio in page.evaluate(CONTRAST).items() if ratio < 4.5}
    assert too_faint == {}


@pytest.mark.parametrize("text", PAYLOADS)
def test_hostile_report_is_only_text(open_page: Open, report: Report, text: str) -> None:
    assert report.counters is not None
    place = Place(text, 1, 1, text, (Place(text, 1),))
    finding = Finding(text, "error", text, text, text, (place, place), text)
    coverage = replace(report.coverage, launch=replace(report.coverage.launch, kernel=text), unchecked=(text,), skipped=(text,))
    sites = tuple(replace(site, file=text, line=1, opcode=text) for site in report.counters.sites)
    told = Report((finding,), coverage, replace(report.counters, sites=sites))
    page, heard = open_page(told, {text: text})
    assert heard == []
    assert "owned" not in page.title().split(":")[0]
    assert page.title().startswith("findings: ")
    assert page.evaluate("document.querySelectorAll('script, img, iframe, object, embed, link, base, form, input').length") == 0
    assert (
        page.evaluate("[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()).filter(n => n.startsWith('on'))")
        == []
    )
    assert page.evaluate("[...document.links].filter(a => !a.getAttribute('href').match(/^#(f|s\\d+-)\\d+$/)).length") == 0
    assert page.locator("article").count() == 1
    if text.isprintable():
        assert text in page.locator("article").inner_text()
        assert page.locator("tr[id] code").all_inner_texts() == [text]
