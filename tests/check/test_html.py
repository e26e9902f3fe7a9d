"""The page: what it says, and that nothing in a report can become anything but text."""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.checkers.lessons import kind_lessons
from tilewise.core.counters import Counters, Request, SiteCounters
from tilewise.core.errors import TilewiseError
from tilewise.core.finding import SEVERITIES, Finding
from tilewise.core.place import Place
from tilewise.core.report import Coverage, LaunchCoverage, Report
from tilewise.render.html import as_html, write_html
from tilewise.render.request_picture import Picture, draw_request

SOURCE = "int a;\nfor (;;)\n\ttile[i] = x[i];\r\n    y[i] = tile[j];\n"
COVERAGE = Coverage(LaunchCoverage("mm", (4, 2, 1), (16, 16, 1), (1, 1, 1), 0), 8, 8, ("optimised", "unoptimised"), ())
RACE = Finding(
    "race.shared.raw", "error", "both", "a race", "a barrier", (Place("mm.cu", 3, 5), Place("mm.cu", 4)), "tile", count=1234
)
NO_CONTENT = {"meta", "line", "rect"}


class Tree(HTMLParser):
    """Elements by class or id with their whole text; raises for tags that do not close in turn."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[tuple[str, dict[str, str | None]]] = []
        self.tags = Counter[str]()
        self.attributes: set[str] = set()
        self.texts: dict[str, list[str]] = {}
        self.links: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attrs}
        if tag == "a":
            self.links.append(dict(attrs)["href"] or "")
        if tag not in NO_CONTENT:
            self.open.append((tag, dict(attrs)))
            for key in self._keys(tag, dict(attrs)):
                self.texts.setdefault(key, []).append("")

    def handle_endtag(self, tag: str) -> None:
        if tag not in NO_CONTENT:
            assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        for tag, attrs in self.open:
            for key in self._keys(tag, attrs):
                self.texts[key][-1] += data

    def _keys(self, tag: str, attrs: dict[str, str | None]) -> list[str]:
        return [
            tag,
            *(f".{name}" for name in (attrs.get("class") or "").split()),
            *(f"#{attrs[key]}" for key in ("id",) if key in attrs),
        ]


def site(line: int, **changes: object) -> SiteCounters:
    plain = SiteCounters("global", "load", "mm.cu", line, "ld.global.f32", 10, 1280, 40, 4)
    return replace(plain, **changes)  # type: ignore[arg-type]  # the tests' own


def page(
    *findings: Finding,
    sources: Mapping[str, str] = {"mm.cu": SOURCE},
    sites: tuple[SiteCounters, ...] = (),
    coverage: Coverage = COVERAGE,
) -> Tree:
    return Tree(as_html(Report(findings, coverage, Counters(sites=sites)), sources))


def test_page_says_verdict_launch_and_coverage() -> None:
    tree = page(coverage=replace(COVERAGE, unchecked=("no time",), skipped=("no -G",)))
    assert tree.texts[".verdict"] == ["incomplete"]
    (header,) = tree.texts["header"]
    assert "grid 4 x 2 x 1, block 16 x 16 x 1." in header
    assert "8 of 8 blocks ran; builds: optimised, unoptimised." in header
    assert tree.texts[".unchecked"][0].strip() == "no time"
    assert tree.texts[".skipped"][0].strip() == "no -G"


def test_finding_and_its_lines_lead_to_each_other() -> None:
    tree = page(RACE, replace(RACE, severity="note", lines=(Place("mm.cu", 4),)))
    assert {"#s0-3", "#s0-4", "#f0", "#f1"} == set(tree.links)
    assert all(link in tree.texts for link in tree.links)
    assert "1,234 times" in tree.texts["#f0"][0]
    assert tree.texts["pre"] == ["tile[i] = x[i];", "y[i] = tile[j];", "y[i] = tile[j];"]
    assert tree.texts["#s0-4"][0].split("]")[-1].split() == [";", "race.shared.raw", "race.shared.raw"]
    assert [text.split() for text in tree.texts[".tally"]] == [["1", "error", "1", "note"]]


def test_place_at_which_threads_race_with_each_other_is_shown_once() -> None:
    assert page(replace(RACE, lines=2 * (Place("mm.cu", 4),))).texts["pre"] == ["y[i] = tile[j];"]


def test_finding_says_why_its_kind_matters() -> None:
    tree = page(RACE, replace(RACE, kind="race.global"))
    assert tree.texts[".why"] == [kind_lessons()[kind].why for kind in ("race.shared.raw", "race.global")]


def test_line_that_no_source_has_is_named_without_a_link() -> None:
    tree = page(replace(RACE, lines=(Place("mm.cu", 999), Place("gone.cu", 3), Place("", 7))))
    assert tree.links == []
    assert "mm.cu:999" in tree.texts["#f0"][0]
    assert "PTX line 7" in tree.texts["#f0"][0]


def test_ptx_is_shown_where_there_is_no_source() -> None:
    tree = page(replace(RACE, lines=(Place("", 2),)), sources={"": ".version 8\nst.shared\n"})
    assert tree.links == ["#s0-2", "#f0"]
    assert "PTX" in tree.texts["h2"]


def test_ptx_file_is_shown_once_under_either_name() -> None:
    text = ".version 8\nst.shared\n"
    tree = page(replace(RACE, lines=(Place("", 2),)), sources={"k.ptx": text, "": text})
    assert tree.links == ["#s0-2", "#f0"]
    assert len(tree.texts[".number"]) == 2


def test_call_that_was_inlined_marks_both_lines() -> None:
    inlined = Place("tile.cuh", 1, 1, "load", (Place("mm.cu", 3),))
    tree = page(replace(RACE, lines=(inlined,)), sources={"mm.cu": SOURCE, "tile.cuh": "x = y;\n"})
    assert "tile.cuh:1, inlined at mm.cu:3" in tree.texts["#f0"][0]
    assert "race.shared.raw" in tree.texts["#s0-1"][0]
    assert "race.shared.raw" in tree.texts["#s1-3"][0]


def test_heat_is_a_share_of_the_columns_largest() -> None:
    sites = (
        site(3, transactions=900),
        site(3, transactions=100),
        site(4, transactions=10, requests=5),
        site(4, space="shared", transactions=7, worst_conflict_ways=2),
    )
    tree = page(sites=sites)
    assert tree.texts["th"] == ["line", "global sectors", "a request", "shared wavefronts", "ways", "source"]
    assert tree.texts[".figure"] == ["", "", "", "", "", "", "", "", "1,000", "50", "", "", "10", "2", "7", "2"]
    assert tree.texts[".h9"] == ["1,000", "50", "7", "2"]
    assert tree.texts[".h1"] == ["10", "2"]


def test_one_way_is_no_heat() -> None:
    tree = page(sites=(site(3, space="shared", transactions=7, worst_conflict_ways=1),))
    assert tree.texts[".figure"] == ["", "", "", "", "7", "1", "", ""]
    assert tree.texts[".h0"] == ["", "", "", "", "1", "", ""]


def test_long_file_is_shown_round_what_is_said() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 3001))
    tree = page(replace(RACE, lines=(Place("mm.cu", 1000), Place("mm.cu", 1005))), sources={"mm.cu": text})
    assert tree.texts[".number"] == [str(number) for number in range(992, 1014)]
    assert len(tree.texts[".gap"]) == 2


def lanes(step: int, first: int = 0) -> tuple[int, ...]:
    return tuple(first + step * lane for lane in range(32))


def shared(addresses: tuple[int | None, ...], ways: int, lane_bytes: int = 4, kind: str = "load") -> SiteCounters:
    example = Request((0, 0, 0), addresses, lane_bytes, ways)
    return site(3, space="shared", kind=kind, worst=ways, worst_conflict_ways=ways, example=example)


def drawn(picture: Picture | None, style: str) -> list[float]:
    assert picture is not None
    return [box.x for box in picture.boxes if box.style == style]


def test_lanes_at_one_bank_stand_on_each_other() -> None:
    picture = draw_request(shared(lanes(128, 12), 32))
    assert drawn(picture, "bad") == [3 * 21] * 32
    assert picture is not None
    assert sorted({box.y for box in picture.boxes if box.style == "bad"}) == [18 * row for row in range(32)]
    assert "32 passes; 31 of 32 banks do nothing" in picture.caption


def test_lanes_at_one_word_are_one_box() -> None:
    """Lanes 0 to 15 want word 0, the others word 32: two words of bank 0."""
    picture = draw_request(shared((0,) * 16 + (128,) * 16, 2))
    assert drawn(picture, "bad") == [0, 0]
    assert drawn(picture, "good") == []
    assert picture is not None
    assert {box.label for box in picture.boxes if box.style == "bad"} == {"0+", "16+"}


def test_wide_lanes_are_drawn_in_the_group_that_takes_most_passes() -> None:
    """16 bytes a lane, a quarter of a warp at a time: lanes 8 to 15 stand 512 bytes apart, the others side by side."""
    places = tuple(512 * lane if 8 <= lane < 16 else 16 * lane for lane in range(32))
    picture = draw_request(shared(places, 8, 16, "store"))
    assert picture is not None
    assert "lanes 8 to 15" in picture.caption
    assert sorted(drawn(picture, "bad")) == [21 * bank for bank in range(4) for _ in range(8)]


def test_lanes_lead_to_the_sectors_they_touch() -> None:
    example = Request((0, 0, 0), (*lanes(64, 4096)[:24], *(None,) * 8), 4, 24)
    picture = draw_request(site(3, example=example))
    assert picture is not None
    assert len(drawn(picture, "bad")) == 24
    assert len(drawn(picture, "idle")) == 8
    assert [(round(line.x1 - line.x2, 6), line.y2 > line.y1) for line in picture.lines] == [(0, True)] * 24
    assert "24 sectors, 768 bytes moved for 96 asked for, where 3 would do" in picture.caption


def test_lane_across_two_sectors_leads_to_both() -> None:
    example = Request((0, 0, 0), (*lanes(8, 28)[:1], *(None,) * 31), 8, 2)
    picture = draw_request(site(3, example=example))
    assert picture is not None
    assert len(picture.lines) == 2
    green = [box.height for box in picture.boxes if box.style == "good"]
    assert green == [4.5, 4.5]  # 4 of 32 bytes, of 36 units


def test_copies_of_a_line_are_drawn_once_a_pattern() -> None:
    """Three copies 4 bytes apart, and one whose lanes stand otherwise to each other."""
    copies = [shared(lanes(128, 4 * step), 32) for step in range(3)]
    tree = page(sites=(*copies, shared(lanes(64), 16)))
    assert tree.tags["svg"] == 2


@pytest.mark.parametrize("quiet", [shared(lanes(4), 1), site(3, example=Request((0, 0, 0), lanes(4), 4, 4)), site(3)])
def test_request_that_costs_no_more_than_it_must_has_no_picture(quiet: SiteCounters) -> None:
    assert draw_request(quiet) is None


# -- nothing in a report becomes anything but text

TAGS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "header",
        "h1",
        "h2",
        "h3",
        "span",
        "code",
        "p",
        "ul",
        "li",
        "main",
        "section",
    ),
    *(
        "article",
        "a",
        "pre",
        "dl",
        "div",
        "dt",
        "dd",
        "table",
        "thead",
        "tr",
        "th",
        "tbody",
        "td",
        "details",
        "summary",
        "figure",
    ),
    *("svg", "line", "g", "rect", "text", "figcaption", "footer"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "scope", "colspan", "open", "viewbox", "role"),
    *("aria-label", "x", "y", "width", "height", "x1", "y1", "x2", "y2"),
}
HOSTILE = [
    "</script><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</title></code></pre><img src=x onerror=alert(1)>",
    "'\"><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}{# #}",
    "<!--",
    "]]>",
    "&lt;b&gt;&#x3c;script>",
    "javascript:alert(1)",
    "\x00\x1b[31m\x9b\u202e\u2066\ufeff",
    "\ud800",
    "a\r\nb\u2028c\x0bd",
]


def hostile(text: str) -> tuple[Finding, dict[str, str], tuple[SiteCounters, ...], Coverage]:
    """A report that says `text` wherever it says anything."""
    place = Place(text, 1, 1, text, (Place(text, 1, 1, text),))
    finding = Finding(text, "error", text, text, text, (place, place), text, ((0, 0, 0),), ((0, 0, 0),))
    counted = replace(shared(lanes(128), 32), file=text, opcode=text, line=1)
    coverage = replace(COVERAGE, launch=replace(COVERAGE.launch, kernel=text), builds=(text,), unchecked=(text,), skipped=(text,))
    return finding, {text: text}, (counted,), coverage


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(text: str) -> None:
    check_hostile(text)


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_stays_text(text: str) -> None:
    check_hostile(text)


def check_hostile(text: str) -> None:
    finding, sources, sites, coverage = hostile(text)
    html = as_html(Report((finding,), coverage, Counters(sites=sites)), sources)
    html.encode()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff]", html)
    tree = Tree(html)
    assert set(tree.tags) <= TAGS
    assert tree.attributes <= ATTRIBUTES
    assert set(tree.links) <= {"#s0-1", "#f0"}
    assert tree.tags["article"] == 1
    assert [shown.replace("\ufffd", "") for shown in tree.texts.get(".fix", [])] == ([as_shown(text)] if text else [])


def as_shown(text: str) -> str:
    """Text as the page has it, without its marks for what cannot be seen."""
    spaced = text.replace("\t", "    ")
    return "".join(one for one in spaced if unicodedata.category(one) not in ("Cc", "Cf", "Cs") and one != "\ufffd")


def test_policy_allows_the_pages_own_style_and_nothing_else() -> None:
    html = as_html(Report((), COVERAGE, None), {})
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert "url(" not in style
    assert "@import" not in style


def test_severities_have_their_looks() -> None:
    html = as_html(Report((), COVERAGE, None), {})
    assert all(f".severity.{severity}" in html for severity in SEVERITIES)
    assert all(f".verdict.{verdict}" in html for verdict in ("clean", "findings", "incomplete"))


def test_file_is_written_whole(tmp_path: Path) -> None:
    report = Report((RACE,), COVERAGE, None)
    write_html(report, {"mm.cu": SOURCE}, tmp_path / "out.html")
    assert (tmp_path / "out.html").read_bytes().decode() == as_html(report, {"mm.cu": SOURCE})
    with pytest.raises(TilewiseError, match="cannot be written"):
        write_html(report, {}, tmp_path / "no" / "out.html")
