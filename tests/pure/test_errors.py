"""Errors on their way from one process to another."""

from __future__ import annotations

import pickle

import pytest

from tilewise.core.errors import CompileError, InstructionLimitReached, KernelFault, TilewiseError, UnsupportedInstruction

ERRORS = [
    TilewiseError("message", where="a.cu:3"),
    CompileError("message", "the compiler's log"),
    UnsupportedInstruction("message", where="a.cu:3"),
    InstructionLimitReached("message"),
    KernelFault("message", ("a fault",), "printed"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_arrives_whole(error: TilewiseError) -> None:
    arrived = pickle.loads(pickle.dumps(error))
    assert (type(arrived), str(arrived), vars(arrived)) == (type(error), str(error), vars(error))


def test_every_kind_of_error_is_tried() -> None:
    kinds, found = [TilewiseError], set()
    while kinds:
        kind = kinds.pop()
        found.add(kind)
        kinds += kind.__subclasses__()
    assert {type(error) for error in ERRORS} == found
