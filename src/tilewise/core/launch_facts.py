"""Launch facts: which kernel to launch, how, and with what. The same flags on the command line and in a file's comment lines.

    --kernel NAME  --grid X,Y,Z  --block X,Y,Z  --cluster X,Y,Z  --smem BYTES  --max-dynamic-smem BYTES
    --arg NAME=VALUE (one each parameter)  --seed N

A line `// tilewise: FLAGS`, split as a shell splits words, states facts and nothing else. What stands before the first --kernel
holds for every kernel of the file; each --kernel begins the facts of one. Sizes are whole-number expressions in the arguments.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from tilewise.core.argument import Argument, parse_argument
from tilewise.core.errors import TilewiseError, nearest
from tilewise.core.expression import Expression, parse_expression
from tilewise.core.scanner import FlagText, Scanner

FLAGS = ("--kernel", "--grid", "--block", "--cluster", "--smem", "--max-dynamic-smem", "--arg", "--seed")
LINE_LIMIT = 8192
"""Characters of a comment line."""
SEED_LIMIT = 1 << 64

_COMMENT = re.compile(r"^[ \t]*+//[ \t]*+tilewise:(.*)$", re.MULTILINE)
_SEED = re.compile(r"[0-9]{1,20}", re.ASCII)


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """What is stated of one launch; None and () where nothing is."""

    kernel: str | None = None
    grid: tuple[Expression, ...] | None = None
    block: tuple[Expression, ...] | None = None
    cluster: tuple[Expression, ...] | None = None
    smem: Expression | None = None
    """Bytes of dynamic shared memory."""
    max_dynamic_smem: Expression | None = None
    """Bytes that the host allows the kernel: what it sets cudaFuncAttributeMaxDynamicSharedMemorySize to."""
    args: tuple[Argument, ...] = ()
    seed: int | None = None

    def stated(self, name: str) -> bool:
        """Whether anything is stated of that field."""
        return getattr(self, name) not in (None, ())

    @property
    def is_empty(self) -> bool:
        """Whether nothing is stated."""
        return not any(self.stated(each.name) for each in fields(self))

    @property
    def states_launch(self) -> bool:
        """Whether there is more than the name of a kernel and a seed."""
        return any(self.stated(name) for name in ("grid", "block", "cluster", "smem", "args"))

    def overridden_by(self, other: LaunchFacts) -> LaunchFacts:
        """Return these facts with the other's in place of them: an argument replaces that of its name, or comes last."""
        changes = {each.name: getattr(other, each.name) for each in fields(other) if other.stated(each.name)}
        by_name = {argument.name: argument for argument in (*self.args, *other.args)}
        return replace(self, **{**changes, "args": tuple(by_name.values())})


def parse_facts(pairs: Sequence[tuple[str, str]], where: str | None = None, folder: Path | None = None) -> LaunchFacts:
    """Return the facts that pairs of a flag and its value state.

    `where` is the file and line they stand in, `folder` where the files of arguments must lie (None: anywhere). Raises
    TilewiseError that points at the column where a value is wrong, and for a flag that is given twice.
    """
    facts: dict[str, object] = {}
    args: dict[str, Argument] = {}
    for flag, text in pairs:
        source = FlagText(flag, text, where)
        if flag == "--arg":
            argument = parse_argument(source, folder)
            if argument.name in args:
                raise source.error(f"argument {argument.name} is given twice", 0)
            args[argument.name] = argument
            continue
        name = flag.removeprefix("--").replace("-", "_")
        if name in facts:
            raise source.error(f"{flag} is given twice", 0)
        facts[name] = _parse_fact(source)
    return LaunchFacts(**facts, args=tuple(args.values()))  # type: ignore[arg-type]


def read_comment_facts(text: str, name: str, folder: Path) -> tuple[LaunchFacts, ...]:
    """Return the facts that the comment lines of a file's text state, one for each kernel they name; () without such lines.

    `name` is the file's, for messages. Raises TilewiseError at the line that is wrong.
    """
    groups: list[LaunchFacts] = [LaunchFacts()]
    for where, pairs in _comment_lines(text, name):
        for part in _split_at_kernels(pairs):
            facts = parse_facts(part, where, folder)
            if facts.kernel is not None:
                groups.append(facts)
            else:
                groups[-1] = _join(groups[-1], facts, where)
    common, *kernels = groups
    if kernels:
        return tuple(common.overridden_by(facts) for facts in kernels)
    return () if common.is_empty else (common,)


def choose_facts(stated: Sequence[LaunchFacts], kernel: str | None, name: str) -> LaunchFacts:
    """Return those of a file's facts that are for `kernel`, or for the only kernel stated.

    Raises TilewiseError where they are for several kernels and none is chosen.
    """
    for facts in stated:
        if facts.kernel is None or (kernel is not None and _same_name(facts.kernel, kernel)):
            return facts
    if kernel is not None or not stated:
        return LaunchFacts()
    if len(stated) > 1:
        names = ", ".join(str(facts.kernel) for facts in stated)
        raise TilewiseError(f"{name} states launches of {len(stated)} kernels: choose one of {names} with --kernel.")
    return stated[0]


def _same_name(one: str, other: str) -> bool:
    return one.replace(" ", "") == other.replace(" ", "")


# -- one flag


def _parse_fact(source: FlagText) -> object:
    match source.flag:
        case "--kernel":
            if not source.text.strip():
                raise source.error("expected a kernel's name, found nothing", 0)
            return source.text.strip()
        case "--smem" | "--max-dynamic-smem":
            scanner = Scanner(source)
            size = parse_expression(scanner)
            scanner.finish("one number of bytes")
            return size
        case "--seed":
            if not _SEED.fullmatch(source.text) or int(source.text) >= SEED_LIMIT:
                raise source.error("a seed is a whole number of 0 to 2^64 - 1", 0)
            return int(source.text)
        case _:
            return _parse_dimensions(source)


def _parse_dimensions(source: FlagText) -> tuple[Expression, ...]:
    scanner = Scanner(source)
    parts = [parse_expression(scanner)]
    while len(parts) < 3 and scanner.take(","):
        parts.append(parse_expression(scanner))
    scanner.finish("at most three sizes, such as 4,4,1" if len(parts) == 3 else ", and another size, or nothing")
    return tuple(parts)


# -- comment lines


def _comment_lines(text: str, name: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the place and the flags of each comment line with their values."""
    line, counted = 1, 0
    for found in _COMMENT.finditer(text):
        line += text.count("\n", counted, found.start(1))
        counted = found.start(1)
        where = f"{name}:{line}"
        if len(found[1]) > LINE_LIMIT:
            raise TilewiseError(f"the launch facts are {len(found[1])} characters long: at most {LINE_LIMIT}.", where=where)
        yield where, _pair_flags(_split_words(found[1], where), where)


def _split_words(line: str, where: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        reason = str(error)[0].lower() + str(error)[1:]
        raise TilewiseError(f"the launch facts cannot be split into words: {reason}.", where=where) from None


def _pair_flags(words: list[str], where: str) -> list[tuple[str, str]]:
    pairs = []
    rest = iter(words)
    for word in rest:
        flag, equals, value = word.partition("=")
        if flag not in FLAGS:
            raise TilewiseError(
                f"{_shown(flag)} is no launch fact, and a comment line states nothing else.{nearest(flag, FLAGS)}", where=where
            )
        if not equals:
            following = next(rest, None)
            if following is None:
                raise TilewiseError(f"{flag} has no value: give one behind it.", where=where)
            value = following
        pairs.append((flag, value))
    return pairs


def _shown(word: str) -> str:
    return repr(word if len(word) <= 40 else word[:40] + "...")


def _split_at_kernels(pairs: list[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    """Yield runs of flags, each --kernel beginning one."""
    part: list[tuple[str, str]] = []
    for pair in pairs:
        if pair[0] == "--kernel" and part:
            yield part
            part = []
        part.append(pair)
    if part:
        yield part


def _join(facts: LaunchFacts, more: LaunchFacts, where: str) -> LaunchFacts:
    """Return both lines' facts. Raises TilewiseError for what both state."""
    twice = [
        f"--{each.name.replace('_', '-')}"
        for each in fields(more)
        if each.name != "args" and facts.stated(each.name) and more.stated(each.name)
    ]
    names = {argument.name for argument in facts.args}
    twice += [f"--arg {argument.name}" for argument in more.args if argument.name in names]
    if twice:
        raise TilewiseError(f"{twice[0]} is given twice: an earlier line states it.", where=where)
    return facts.overridden_by(more)
