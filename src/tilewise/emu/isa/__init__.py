"""The opcode table: one entry an instruction form. Every file of this folder adds its forms to the registry."""

import importlib
import pkgutil

from tilewise.emu.isa.spec import FORMS, Form, find_form, known_spellings

__all__ = ["FORMS", "Form", "find_form", "known_spellings"]

for _file in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_file.name}")
