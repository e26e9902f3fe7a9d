from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tilewise import __version__
from tilewise.cli.ladder import parse_sizes
from tilewise.cli.main import main
from tilewise.core.errors import TilewiseError


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tilewise", *arguments], capture_output=True, text=True, check=False)


def message_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run the command line, which must end with exit code 2 and nothing on stdout, and return what it says on stderr."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    shown = capsys.readouterr()
    assert stop.value.code == 2
    assert shown.out == ""
    return shown.err


@pytest.mark.parametrize(
    ("words", "sizes"),
    [([], (512, 512, 512)), (["64"], (64, 64, 64)), (["37", "61", "47"], (37, 61, 47)), (["1"], (1, 1, 1))],
)
def test_sizes_are_none_or_one_or_three(words: list[str], sizes: tuple[int, int, int]) -> None:
    assert parse_sizes(words) == sizes


@pytest.mark.parametrize("words", [["1", "2"], ["1", "2", "3", "4"]])
def test_other_numbers_of_sizes_are_refused(words: list[str]) -> None:
    with pytest.raises(TilewiseError, match=rf"{len(words)} sizes \({' '.join(words)}\)"):
        parse_sizes(words)


@pytest.mark.parametrize("word", ["0", "-5", "1.5", "1e3", "x", "", "+1", "1_0", "٣", "9" * 5000, "-"])  # with an Arabic three
def test_sizes_that_are_no_whole_numbers_are_refused(word: str) -> None:
    with pytest.raises(TilewiseError, match=r"whole number of at least 1|no option -"):
        parse_sizes([word])


def test_negative_size_gets_a_sentence_and_no_usage_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert message_of(["ladder", "-5"], capsys) == "tilewise: size '-5' is not a whole number of at least 1.\n"


def test_misspelt_option_gets_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no option --rung. Did you mean --rungs" in message_of(["ladder", "--rung=r01", "64"], capsys)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["64", "--rungs", "r30"], "no rung 'r30'"),
        (["64", "--rungs", ""], "no rung ''"),
        (["64", "--device", "h20"], "Did you mean h200"),
        (["64", "--device", "v100"], "pip install 'tilewise[cu12]'"),
        (["64", "--layout", "rx"], "layout 'rx' is unknown"),
        (["64", "--tile", "12"], "tile = 12"),
        (["64", "--tile", "8", "--rungs", "r01,r02"], "r03"),
        (["64", "--seed", "-1"], "seed = -1"),
        (["64", "--threads", "0"], "threads = 0"),
        (["64", "--sample-blocks", "0"], "sample_blocks = 0"),
        (["64", "--sample-block", "4"], "Did you mean --sample-blocks"),
        (["64", "--device", "/no/such/my.json"], "/no/such/my.json: the device file cannot be read: no such file"),
        (["3000000000"], "3000000000"),
        (["1000000"], "GB of memory"),
    ],
)
def test_ladder_refuses_what_it_cannot_run(arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    message = message_of(["ladder", *arguments], capsys)
    assert message.startswith("tilewise: ")
    assert expected in message
    assert message.count("\n") == 1


def test_unknown_verb_gets_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Did you mean 'ladder'?" in message_of(["laddr"], capsys)


def test_module_and_version() -> None:
    shown = run("--version")
    assert (shown.returncode, shown.stdout) == (0, f"tilewise {__version__}\n")


def test_reader_that_stops_early_ends_the_command_quietly() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tilewise", "devices"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        command.stdout.close()
        assert command.stderr.read() == b""
    assert command.returncode == -signal.SIGPIPE


def test_terminal_without_unicode_gets_no_traceback() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "tilewise", "devices"],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert shown.stdout.isascii()


def test_ctrl_c_while_loading_ends_without_traceback() -> None:
    code = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # begun in the background, a process ignores it
        "class Press:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'typer':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Press())\n"
        "from tilewise.__main__ import main\n"
        "main()"
    )
    stopped = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (stopped.returncode, stopped.stdout, stopped.stderr) == (130, "", "")


def test_refusal_from_a_process_has_no_traceback() -> None:
    refused = run("ladder", "64", "--device", "h20")
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert "Traceback" not in refused.stderr


def test_help_loads_neither_numpy_nor_compiler_nor_rich() -> None:
    code = (
        "import sys\n"
        "from tilewise.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(*(name for name in ('numpy', 'llvmlite', 'cuda', 'rich') if name in sys.modules), file=sys.stderr)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "ladder" in shown.stdout
    assert shown.stderr.strip() == ""
