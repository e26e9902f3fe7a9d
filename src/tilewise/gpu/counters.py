"""Nsight Compute's counters, launch by launch. Needs `ncu` on the PATH and a driver that lets it read them."""

from __future__ import annotations

import csv
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewise.core.errors import TilewiseError

METRICS = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_load_requests": "smsp__inst_executed_op_shared_ld.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_load_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_store_requests": "smsp__inst_executed_op_shared_st.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_store_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "async_copy_requests": "smsp__inst_executed_op_ldgsts.sum",
    "async_copy_sectors_through_l1": "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
    "async_copy_sectors_past_l1": "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum",
    "async_copy_wavefronts": "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
    "async_copy_bank_conflicts": "sm__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum",
    "fma": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "instructions": "smsp__inst_executed.sum",
    "l2_read_sectors": "lts__t_sectors_op_read.sum",
    "hbm_read_bytes": "dram__bytes_read.sum",
    "hbm_write_bytes": "dram__bytes_write.sum",
    "nanoseconds": "gpu__time_duration.sum",
}
"""Our names and ncu's. What ncu counts is the machine code, in which loads of the PTX may be merged."""
NOT_PERMITTED = "ERR_NVGPUCTRPERM"


@dataclass(frozen=True, slots=True)
class ProfiledLaunch:
    """One kernel launch and what was counted in it, by ncu's metric."""

    kernel: str
    counts: dict[str, float]


def count_launches(command: Sequence[str], kernels: str) -> list[dict[str, int]]:
    """Return the METRICS of the launches of kernels whose name matches the expression `kernels`, by our names, in order.

    Caches are empty when a launch starts. What the GPU does not count is left out. Raises TilewiseError as `profile` does.
    """
    known = {name: metric for name, metric in METRICS.items() if metric in known_metrics(tuple(METRICS.values()))}
    launches = profile(command, tuple(known.values()), kernels)
    return [{name: round(launch.counts[metric]) for name, metric in known.items()} for launch in launches]


def profile(command: Sequence[str], metrics: Sequence[str], kernels: str, *, flush_caches: bool = True) -> list[ProfiledLaunch]:
    """Return the launches of kernels whose name matches the expression `kernels`, in order. The card's clocks are left alone.

    Raises TilewiseError where ncu is missing, not permitted or fails, and with what the command printed if that fails.
    """
    _require_ncu()
    with tempfile.TemporaryDirectory(prefix="tilewise-ncu-") as folder:
        log = Path(folder) / "ncu.csv"
        ncu = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
        ncu += ["--cache-control", "all" if flush_caches else "none", "--kernel-name", f"regex:{kernels}"]
        ncu += ["--metrics", ",".join(metrics), "--log-file", str(log)]
        result = subprocess.run([*ncu, *command], capture_output=True, text=True, check=False)
        table = log.read_text() if log.exists() else ""
    output = table + result.stdout + result.stderr
    if NOT_PERMITTED in output:
        raise TilewiseError(
            "the driver does not let this user read the GPU's counters (ERR_NVGPUCTRPERM): run as an administrator, or let an "
            "administrator load the driver with NVreg_RestrictProfilingToAdminUsers=0 [developer.nvidia.com/ERR_NVGPUCTRPERM]."
        )
    if result.returncode:
        raise TilewiseError(f"ncu ended with status {result.returncode}: {output.strip()[-2000:]}")
    return parse_table(table, metrics)


def parse_table(table: str, metrics: Sequence[str]) -> list[ProfiledLaunch]:
    """Return the launches of a raw page in CSV: lines of ncu's own (==PROF==), one of names, one of units, then one a launch."""
    lines = [line for line in table.splitlines() if line.startswith('"')]
    rows = [row for row in csv.DictReader(lines) if row["ID"]]
    return [
        ProfiledLaunch(row["Kernel Name"].partition("(")[0], {metric: float(row[metric].replace(",", "")) for metric in metrics})
        for row in rows
    ]


def known_metrics(metrics: Sequence[str]) -> tuple[str, ...]:
    """Return those of `metrics` that ncu counts on this machine's GPU.

    Raises TilewiseError where ncu is missing, or finds no GPU.
    """
    _require_ncu()
    result = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True, check=False)
    if result.returncode:
        raise TilewiseError(f"ncu cannot tell what it counts here: {(result.stdout + result.stderr).strip()[-500:]}")
    names = {line.split()[0] for line in result.stdout.splitlines() if line.strip()}
    return tuple(metric for metric in metrics if metric.partition(".")[0] in names)


def ncu_version() -> str:
    """Return the version that `ncu --version` tells, such as 2025.3.1.0."""
    words = subprocess.run(["ncu", "--version"], capture_output=True, text=True, check=True).stdout.split()
    return words[words.index("Version") + 1]


def _require_ncu() -> None:
    if shutil.which("ncu") is None:
        raise TilewiseError(
            "ncu is not on the PATH: install Nsight Compute, which comes with CUDA's toolkit, or leave the counters out."
        )
