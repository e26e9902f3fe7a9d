"""How a block ends: branches, barriers and exits, for all lanes together and lane by lane."""

from __future__ import annotations

from collections.abc import Iterable

from tilewise.emu import abi
from tilewise.emu.lower.body import Body
from tilewise.emu.lower.special import TICKS
from tilewise.emu.lower.step import Step
from tilewise.emu.patterns import LANES
from tilewise.emu.value import Value, vector_type

LEFT = -1
"""In place of a successor: the lanes leave the kernel."""


class Flow:
    """Ends one block. `label` names the block at a position in the function being built."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.lanes = body.lanes
        self.frame = body.kernel.frame
        self.successors = body.program.successors[body.last]

    def end(self, step: Step | None) -> None:
        """Emit the block's end; `step` is its control instruction, if it ends in one."""
        taken, condition = self.successors[0] if self.successors else LEFT, None
        otherwise = LEFT
        if step is not None and step.form is None:
            self._set_warp("wait_site", str(step.site))
            self.lanes.emit(f"ret i32 {abi.UNSUPPORTED}")
            return
        if step is not None and step.control == "barrier":
            self._wait(step, taken)
            return
        if step is not None and step.control == "switch":
            self._switch(step)
            return
        if step is not None and step.control in ("trap", "assert"):
            self._stop_launch(step)
            return
        if step is not None and step.control == "sleep":
            self._sleep(step, taken)
            return
        if step is not None and step.control == "arrival":
            self._come(step, *self._barrier_operands(step), None)
        if step is not None and step.control == "exit":
            taken, otherwise = LEFT, (self.successors[0] if self.successors else LEFT)
        elif step is not None and step.control == "branch":
            otherwise = self.successors[-1]  # also where a guarded branch goes on to what follows it anyway
        if step is not None and step.instruction.guard is not None and taken != otherwise:
            condition = self.body.predicate(step)
        self.body.commit()
        if self.body.careful:
            self._part_lanes(condition, taken, otherwise)
        else:
            self._go_together(condition, taken, otherwise)

    # -- all lanes together

    def _go_together(self, condition: Value | None, taken: int, otherwise: int) -> None:
        lanes = self.lanes
        if condition is None:
            self._jump(taken)
        elif condition.is_uniform:
            there, past = self._way(taken), self._way(otherwise)
            lanes.emit(f"br i1 {condition.scalar}, label %{there[0]}, label %{past[0]}")
            self._write_ways(there, past)
        else:
            mask, there, past = lanes.mask_bits(condition), self._way(taken), self._way(otherwise)
            some, apart = lanes.fresh("some"), lanes.fresh("apart")
            lanes.emit(f"br i1 {lanes.define(f'icmp eq i32 {mask}, -1')}, label %{there[0]}, label %{some}")
            lanes.label(some)
            lanes.emit(f"br i1 {lanes.define(f'icmp eq i32 {mask}, 0')}, label %{past[0]}, label %{apart}")
            lanes.label(apart)
            self._send(taken, mask)
            self._send(otherwise, lanes.define(f"xor i32 {mask}, -1"))
            lanes.emit(f"ret i32 {abi.DIVERGED}")
            self._write_ways(there, past)

    def _way(self, target: int) -> tuple[str, int]:
        """The label to branch to for a target: its own, or one for the code that must come first."""
        if target != LEFT and target > self.body.last:
            return f"block{target}", target
        return self.lanes.fresh("way"), target

    def _write_ways(self, *ways: tuple[str, int]) -> None:
        for label, target in ways:
            if label != f"block{target}":
                self.lanes.label(label)
                self._jump(target)

    def _jump(self, target: int) -> None:
        """Go on at a block, leaving the kernel or, on the way back in a loop, looking whether to stop."""
        lanes = self.lanes
        if target == LEFT:
            lanes.emit(f"ret i32 {abi.EXITED}")
        elif target > self.body.last:
            lanes.emit(f"br label %block{target}")
        else:
            on = f"block{target}" if (self.body.last, target) not in self.body.program.yields else lanes.fresh("yields")
            lanes.emit(f"br i1 {self._asked_to_stop()}, label %stopped, label %{on}, !prof !1")
            if on != f"block{target}":
                lanes.label(on)
                lets = lanes.fresh("lets")
                lanes.emit(f"br i1 {self._lose_patience()}, label %{lets}, label %block{target}, !prof !1")
                lanes.label(lets)
                self._let_others_go(target)

    def _asked_to_stop(self) -> str:
        lanes = self.lanes
        where = lanes.define(f"load ptr, ptr {self.body.context_address('stop')}")
        return lanes.define(f"icmp ne i32 {lanes.define(f'load volatile i32, ptr {where}')}, 0")

    # -- letting others go first

    def _lose_patience(self) -> str:
        """Count a round of a loop that waits; say whether it is time to let others go first."""
        lanes, place = self.lanes, self.body.warp_address("patience")
        left = lanes.define(f"sub i32 {lanes.define(f'load i32, ptr {place}')}, 1")
        is_lost = lanes.define(f"icmp eq i32 {left}, 0")
        lanes.emit(f"store i32 {lanes.define(f'select i1 {is_lost}, i32 {abi.PATIENCE}, i32 {left}')}, ptr {place}")
        return is_lost

    def _let_others_go(self, resume: int) -> None:
        """Come back to the scheduler, with all lanes together."""
        self._set_warp("resume", str(resume))
        self.lanes.emit(f"ret i32 {abi.YIELDED}")

    def _sleep(self, step: Step, resume: int) -> None:
        """Let others go first; the clock goes on by as long as the lanes sleep, in the order in which they do."""
        lanes, clock = self.lanes, self.body.context_address("clock")
        time = self.body.value(*step.sources[0])
        ticks = lanes.extend("zext", "i64", time) if time is not None and time.is_uniform else lanes.constant("i64", TICKS)
        now = lanes.define(f"add i64 {lanes.define(f'load i64, ptr {clock}')}, {ticks.scalar}")
        lanes.emit(f"store i64 {now}, ptr {clock}")
        self.body.commit()
        if not self.body.careful:
            self._let_others_go(resume)
            return
        self._send(resume, self.body.mask or "-1", behind="true")
        lanes.emit("br label %dispatch")

    # -- lane by lane

    def _part_lanes(self, condition: Value | None, taken: int, otherwise: int) -> None:
        lanes, mask = self.lanes, self.body.mask
        assert mask is not None
        ways = [(taken, mask)]
        if condition is not None:
            there = lanes.define(f"and i32 {mask}, {lanes.mask_bits(condition)}")
            ways = [(taken, there), (otherwise, lanes.define(f"xor i32 {mask}, {there}"))]
        for target, active in ways:
            is_back = (self.body.last, target) in self.body.program.yields
            self._send(target, active, behind=self._lose_patience() if is_back else "false")
        self._dispatch((taken, otherwise))

    def _dispatch(self, targets: Iterable[int]) -> None:
        """Let the next block run; on the way back in a loop, look whether to stop."""
        lanes = self.lanes
        if any(target != LEFT and target <= self.body.last for target in targets):
            lanes.emit(f"br i1 {self._asked_to_stop()}, label %stopped, label %dispatch, !prof !1")
        else:
            lanes.emit("br label %dispatch")

    def _send(self, target: int, mask: str, *, behind: str = "false") -> None:
        """Make the lanes of `mask` pending at a block (where `behind` holds, after all others), or take them out of the warp."""
        lanes = self.lanes
        if target == LEFT:
            live = self.body.warp_address("live")
            left = lanes.define(f"and i32 {lanes.define(f'load i32, ptr {live}')}, {lanes.define(f'xor i32 {mask}, -1')}")
            lanes.emit(f"store i32 {left}, ptr {live}")
            return
        self._or_into(self.body.address("%warp", self.frame.masks + 4 * target), "i32", mask)
        bit = lanes.define(f"select i1 {lanes.define(f'icmp ne i32 {mask}, 0')}, i64 {_bit(target)}, i64 0")
        blocks: int | str = self.frame.pending + 8 * (target // 64)
        if behind != "false":
            last = self.frame.yielded + 8 * (target // 64)
            blocks = lanes.define(f"select i1 {behind}, i64 {last}, i64 {blocks}")
        self._or_into(self.body.address("%warp", blocks), "i64", bit)

    def _or_into(self, pointer: str, type_: str, value: str) -> None:
        lanes = self.lanes
        merged = lanes.define(f"or {type_} {lanes.define(f'load {type_}, ptr {pointer}')}, {value}")
        lanes.emit(f"store {type_} {merged}, ptr {pointer}")

    # -- jumps by number

    def _switch(self, step: Step) -> None:
        """Go on where a number says; lanes whose number leads nowhere leave the kernel, and it is a fault."""
        number = self.body.value(*step.sources[0])
        assert number is not None
        choices = self.body.program.choices.get(self.body.last, ())  # none: the module has no function to call
        self.body.commit()
        self.body.context_field("fault")  # before the ways part
        if self.body.careful:
            self._send_by_number(step, number, choices, self.body.mask or "-1")
            self._dispatch(target for _, target in choices)
        elif number.is_uniform:
            self._switch_together(step, number, str(number.scalar), choices)
        else:
            lanes, wide = self.lanes, vector_type(number.type)
            first = lanes.define(f"extractelement {wide} {lanes.vector(number)}, i32 0")
            same = lanes.compare("icmp eq", number, Value(number.type, first))
            together, apart = lanes.fresh("together"), lanes.fresh("apart")
            all_same = lanes.define(f"icmp eq i32 {lanes.mask_bits(same)}, -1")
            lanes.emit(f"br i1 {all_same}, label %{together}, label %{apart}")
            lanes.label(apart)
            self._send_by_number(step, number, choices, "-1")
            lanes.emit(f"ret i32 {abi.DIVERGED}")
            lanes.label(together)
            self._switch_together(step, number, first, choices)

    def _switch_together(self, step: Step, number: Value, scalar: str, choices: tuple[tuple[int, int], ...]) -> None:
        lanes = self.lanes
        known = number.constant if number.is_uniform else None
        if known is not None and known in dict(choices):
            self._jump(dict(choices)[known])
            return
        ways = {target: self._way(target) for _, target in choices}
        nowhere = lanes.fresh("nowhere")
        cases = " ".join(f"{number.type} {key}, label %{ways[target][0]}" for key, target in choices)
        lanes.emit(f"switch {number.type} {scalar}, label %{nowhere} [ {cases} ]")
        self._write_ways(*ways.values())
        lanes.label(nowhere)
        self._fault(step, abi.BAD_JUMP, "-1", number)
        lanes.emit(f"ret i32 {abi.EXITED}")

    def _send_by_number(self, step: Step, number: Value, choices: tuple[tuple[int, int], ...], active: str) -> None:
        """Make lanes pending, each where its number says."""
        lanes, left = self.lanes, active
        by_target: dict[int, list[int]] = {}
        for key, target in choices:
            by_target.setdefault(target, []).append(key)
        for target, keys in by_target.items():
            here = lanes.constant("i1", 0)
            for key in keys:
                here = lanes.operation("or", here, lanes.compare("icmp eq", number, lanes.constant(number.type, key)))
            mask = lanes.define(f"and i32 {left}, {lanes.mask_bits(here)}")
            self._send(target, mask)
            left = lanes.define(f"xor i32 {left}, {mask}")
        self._fault(step, abi.BAD_JUMP, left, number)
        self._send(LEFT, left)

    def _fault(self, step: Step, kind: int, mask: str, number: Value) -> None:
        """Report lanes, if there are any, with a number of each."""
        self.body.store_addresses(number)
        fault = self.body.context_field("fault")
        self.lanes.emit(f"call void {fault}(ptr %context, ptr %warp, i32 {kind}, i32 {step.site}, i32 {mask})")

    # -- the end of the launch

    def _stop_launch(self, step: Step) -> None:
        """The lanes report what they came to, and leave the kernel; so do all others, soon."""
        mask = self.body.mask or "-1"
        if step.control == "trap":
            self._fault(step, abi.TRAP, mask, self.lanes.constant("i64", 0))
        else:
            for index, source in enumerate(step.sources):
                value = self.body.value(*source) or self.lanes.constant("i64", 0)
                wide = value if value.type == "i64" else self.lanes.extend("zext", "i64", value)
                place = self.body.context_address("values", 8 * LANES * index)
                self.lanes.emit(f"store {vector_type('i64')} {self.lanes.vector(wide)}, ptr {place}")
            function = self.body.context_field("assert_")
            self.lanes.emit(f"call void {function}(ptr %context, ptr %warp, i32 {step.site}, i32 {mask})")
        if self.body.careful:
            self._send(LEFT, mask)
            self.lanes.emit("br label %dispatch")
        else:
            self.lanes.emit(f"ret i32 {abi.EXITED}")

    # -- meeting others

    def meet(self, step: Step) -> None:
        """Begin a block (careful) at which lanes of the warp come together: those that need not wait for others go on."""
        body, lanes = self.body, self.lanes
        member = body.value(*step.sources[-1])
        assert member is not None
        self._store_words(0, member)
        meet = body.context_field("meet")
        body.mask = lanes.define(f"call i32 {meet}(ptr %context, ptr %warp, i32 {body.position}, i32 {step.site})")
        go = lanes.fresh("go")
        lanes.emit(f"br i1 {lanes.define(f'icmp eq i32 {body.mask}, 0')}, label %dispatch, label %{go}")
        lanes.label(go)

    def _wait(self, step: Step, resume: int) -> None:
        """Come to a barrier and go on at `resume` when it is complete."""
        lanes = self.lanes
        number, threads, holds = self._barrier_operands(step)
        self.body.commit()
        self._set_warp("resume", str(resume))
        if self.body.careful:
            self._come(step, number, threads, holds, resume)
            lanes.emit("br label %dispatch")
            return
        status = abi.AT_BARRIER
        if holds is None and number.is_uniform and threads.is_uniform:
            self._set_warp("wait_site", str(step.site))
            if number.constant == threads.constant == 0:
                status = abi.AT_BLOCK_BARRIER
            else:
                self._set_warp("barrier", str(number.scalar))
                self._set_warp("threads", str(threads.scalar))
        else:
            self._come(step, number, threads, holds, resume)
        lanes.emit(f"ret i32 {status}")

    def _come(self, step: Step, number: Value, threads: Value, holds: Value | None, resume: int | None) -> None:
        """Have the runtime count lanes at a barrier. Without a place to go on at they do not wait."""
        lanes = self.lanes
        self._store_words(0, number)
        self._store_words(1, threads)
        mask, bits = self.body.mask or "-1", "0" if holds is None else lanes.mask_bits(holds)
        come = self.body.context_field("come")
        arguments = f"i32 {step.site}, i32 {mask}, i32 {bits}, i32 {int(resume is not None)}, i32 {resume or 0}"
        lanes.emit(f"call void {come}(ptr %context, ptr %warp, {arguments})")

    def _barrier_operands(self, step: Step) -> tuple[Value, Value, Value | None]:
        """A barrier's number, how many threads it is for (0: all), and the predicate of a reduction."""
        values = [self.body.value(*source) for source in step.sources]
        known = [self.lanes.constant("i32", 0) if value is None else value for value in values]
        holds = known.pop() if step.sources[-1][1] == "pred" else None
        return known[0], known[1] if len(known) > 1 else self.lanes.constant("i32", 0), holds

    def _store_words(self, index: int, value: Value) -> None:
        """Put 32 words where the runtime looks for them."""
        place = self.body.context_address("values", 4 * LANES * index)
        self.lanes.emit(f"store {vector_type('i32')} {self.lanes.vector(value)}, ptr {place}")

    def _set_warp(self, name: str, value: str) -> None:
        self.lanes.emit(f"store i32 {value}, ptr {self.body.warp_address(name)}")


def _bit(position: int) -> int:
    """One bit of a 64-bit word, as LLVM's signed literal."""
    bit = 1 << position % 64
    return bit - (1 << 64) if bit >> 63 else bit
