"""LLVM IR to machine code in this process, through llvmlite. Knows neither PTX nor memory."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

CODEGEN_LEVEL = 1
"""Of the levels tried, 1 gave both the fastest code and the shortest compile; IR passes are not run at all (docs/adr)."""
VECTOR_BITS = {True: 512, False: 256}


@dataclass(frozen=True, slots=True)
class Target:
    """The processor to generate code for, as LLVM names it."""

    cpu: str
    features: str

    @property
    def vector_bits(self) -> int:
        """Width of its vector registers."""
        return VECTOR_BITS["+avx512f" in self.features]


@functools.cache
def host_target() -> Target:
    """This machine's processor."""
    llvm = _llvm()
    return Target(llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


AVX2 = Target("x86-64-v3", "")
"""Any x86-64 machine of the last ten years."""


def compiler_version() -> str:
    """LLVM's version, and llvmlite's."""
    import llvmlite

    return f"LLVM {'.'.join(map(str, _llvm().llvm_version_info))}, llvmlite {llvmlite.__version__}"


class Code:
    """Machine code of one function, loaded; it lives as long as this object."""

    def __init__(self, machine_code: bytes, target: Target) -> None:
        llvm = _llvm()
        self._machine = _target_machine(target)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self._machine)
        self._engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(machine_code))
        self._engine.finalize_object()

    def address(self, function: str) -> int:
        """Where a function stands."""
        return int(self._engine.get_function_address(function))


def compile_ir(ir: str, target: Target) -> bytes:
    """Return the relocatable machine code (an ELF object) of an IR module whose functions carry the attribute group #0."""
    llvm = _llvm()
    attributes = (
        f'attributes #0 = {{ nounwind "target-cpu"="{target.cpu}" "target-features"="{target.features}" '
        f'"prefer-vector-width"="{target.vector_bits}" "min-legal-vector-width"="{target.vector_bits}" }}\n'
    )
    module = llvm.parse_assembly(ir + attributes)
    module.verify()  # 1 % of the time; what it refuses would end the process, or worse
    machine = _target_machine(target)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return bytes(machine.emit_object(module))


def _target_machine(target: Target) -> Any:
    return (
        _llvm()
        .Target.from_default_triple()
        .create_target_machine(
            cpu=target.cpu, features=target.features, opt=CODEGEN_LEVEL, reloc="pic", codemodel="default", jit=True
        )
    )


@functools.cache
def _llvm() -> Any:
    """llvmlite.binding, imported and initialised at first use."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm
