"""Code that LLVM would not survive is refused before it gets there."""

from __future__ import annotations

import pytest

from tilewise.emu.jit import compile_ir, host_target

USED_BEFORE_IT_IS_MADE = """
define i32 @warp(i32 %a) #0 {
entry:
  %c = icmp eq i32 %a, 0
  br i1 %c, label %one, label %other
one:
  %x = add i32 %a, 1
  br label %other
other:
  ret i32 %x
}
"""


def test_a_value_that_is_not_there_on_every_way_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="does not dominate"):
        compile_ir(USED_BEFORE_IT_IS_MADE, host_target())
