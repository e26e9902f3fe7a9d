"""tilewise.plan and its prepared calls, on a pretended GPU."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pytest
from device_arrays import Interfaced
from fake_driver import FakeDriver

import tilewise
from tilewise.core.errors import TilewiseError
from tilewise.engine.rules import RULES
from tilewise.kernels.ladder import objections, rung

Floats = npt.NDArray[np.float32]


def normal(*shape: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def close(result: Floats, a: Floats, b: Floats) -> bool:
    scale = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    return bool(np.all(np.abs(result - a.astype(np.float64) @ b.astype(np.float64)) <= 1e-5 * scale))


@pytest.mark.parametrize("device", ["v100", "t4", "a100-80gb", "h200", "b200"])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (4096, 4096, 4096), (64, 64, 131_072), (8, 57_344, 8192), (3, 5, 0)])
def test_every_rule_is_chosen_possible_or_rejected_with_a_reason(device: str, sizes: tuple[int, int, int]) -> None:
    plan = tilewise.plan(*sizes, device=device)
    rows = [plan.chosen, *plan.alternatives, *plan.rejected]
    assert len(rows) == len(RULES)
    assert all(row.reason for row in rows)
    able = (plan.chosen, *plan.alternatives)
    assert [candidate.seconds for candidate in able] == sorted(candidate.seconds for candidate in able)
    for candidate in (*able, *plan.rejected):
        if candidate.kernel.startswith("r"):
            assert bool(objections(rung(candidate.kernel), candidate.tile, plan.device, plan.problem)) == (candidate not in able)
    assert plan.best == plan.chosen.tile


def test_a_device_below_8_0_gets_a_kernel_without_cp_async() -> None:
    plan = tilewise.plan(4096, 4096, 4096, device="v100")
    assert rung(plan.chosen.kernel).least_compute_capability <= (7, 0)
    assert any("compute capability 8.0" in candidate.reason for candidate in plan.rejected)


def test_explanation_names_the_choice_and_what_was_left() -> None:
    plan = tilewise.plan(4096, 4096, 4096, dtype="fp32", layout="rc", device="h200")
    text = plan.explain()
    assert plan.chosen.label in text
    assert "4096 x 4096 x 4096, layout rc, on H200 SXM" in text
    cut = plan.chosen.cut
    assert cut is not None
    assert f"{cut.blocks:,} blocks of 256 threads on 132 SMs" in text
    assert f"{cut.whole:,} tiles go to a block each, the others are cut along k into {cut.shares} shares" in text
    assert all(candidate.label in text for candidate in plan.alternatives)


def test_without_a_device_the_gpu_there_is_planned_for(fake: FakeDriver) -> None:
    fake.attributes["MULTIPROCESSOR_COUNT"] = 7
    assert tilewise.plan(64, 64, 64).device.sms == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"M": 0}, "M = 0 leaves nothing to compute"),
        ({"K": -1}, "K = -1 is not a size"),
        ({"dtype": "bf16"}, "dtype 'bf16' is not supported yet"),
        ({"layout": "rx"}, "layout 'rx' is unknown"),
        ({"device": "h20"}, "h200"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(TilewiseError, match=re.escape(message)):
        tilewise.plan(**{"M": 4, "N": 4, "K": 4, "device": "h200", **arguments})  # type: ignore[arg-type]  # what is refused


def test_prepared_call_runs_the_planned_kernel_on_what_the_arrays_hold_now(fake: FakeDriver) -> None:
    a, b, out = normal(40, 30), normal(50, 30).T, np.zeros((40, 50), np.float32)
    plan = tilewise.plan(40, 50, 30, layout="rc")
    call = plan.bind(Interfaced(fake, a), Interfaced(fake, b), Interfaced(fake, out))
    assert not fake.launches
    call()
    assert close(out, a, b)
    a[...] = normal(40, 30, seed=9)
    assert call() is call.out
    assert close(out, a, b)
    assert [grid for _, grid, _ in fake.launches] == 2 * [(plan.chosen.blocks, 1, 1)]


def test_prepared_call_of_a_plan_with_shares_has_room_for_their_parts(fake: FakeDriver) -> None:
    a, b, out = normal(70, 900), normal(900, 90), np.zeros((70, 90), np.float32)
    plan = tilewise.plan(70, 90, 900)
    assert plan.chosen.cut is not None
    assert plan.chosen.cut.shares
    plan.bind(Interfaced(fake, a), Interfaced(fake, b), Interfaced(fake, out))()
    assert close(out, a, b)
    assert [name for name, _, _ in fake.launches] == ["gemm", "sum_parts"]


def test_prepared_call_with_a_column_major_out_is_another_problem(fake: FakeDriver) -> None:
    a, b, out = normal(70, 300), normal(300, 200), np.zeros((200, 70), np.float32).T
    tilewise.plan(70, 200, 300).bind(Interfaced(fake, a), Interfaced(fake, b), Interfaced(fake, out))()
    assert close(out, a, b)


def test_prepared_call_without_out_makes_one(fake: FakeDriver) -> None:
    a, b = normal(8, 9), normal(9, 7)
    call = tilewise.plan(8, 7, 9).bind(Interfaced(fake, a), Interfaced(fake, b))
    assert close(call().numpy(), a, b)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (normal(8, 9), normal(9, 6), "b has shape (9, 6), and the plan is for (9, 7)"),
        (normal(8, 9), normal(7, 9).T, "b is of order 'c', and the plan's layout is 'rr'"),
    ],
)
def test_arrays_of_another_problem_are_refused(fake: FakeDriver, a: Floats, b: Floats, message: str) -> None:
    with pytest.raises(TilewiseError, match=re.escape(message)):
        tilewise.plan(8, 7, 9).bind(Interfaced(fake, a), Interfaced(fake, b))


def test_arrays_on_the_host_are_not_bound(fake: FakeDriver) -> None:
    with pytest.raises(TilewiseError, match="a, of type ndarray, is not on a GPU"):
        tilewise.plan(8, 7, 9).bind(normal(8, 9), normal(9, 7))
