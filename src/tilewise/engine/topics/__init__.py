"""The topics of `tilewise explain`: the rungs, and one file an idea. Importing this registers all, in the order of the list."""

from tilewise.core.lesson import TOPICS

from tilewise.engine.topics import rungs  # isort: skip
from tilewise.engine.topics import tiling  # isort: skip
from tilewise.engine.topics import barriers  # isort: skip
from tilewise.engine.topics import coalescing  # isort: skip
from tilewise.engine.topics import banks  # isort: skip
from tilewise.engine.topics import intensity  # isort: skip
from tilewise.engine.topics import registers  # isort: skip
from tilewise.engine.topics import pipelining  # isort: skip

__all__ = ["TOPICS", "banks", "barriers", "coalescing", "intensity", "pipelining", "registers", "rungs", "tiling"]
