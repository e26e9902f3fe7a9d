"""The topics of `tilewise explain`: rungs, one file an idea, kinds of findings. Importing this registers all, in their order."""

from tilewise.core.lesson import TOPICS

from tilewise.engine.topics import rungs  # isort: skip
from tilewise.engine.topics import tiling  # isort: skip
from tilewise.engine.topics import barriers  # isort: skip
from tilewise.engine.topics import coalescing  # isort: skip
from tilewise.engine.topics import banks  # isort: skip
from tilewise.engine.topics import intensity  # isort: skip
from tilewise.engine.topics import registers  # isort: skip
from tilewise.engine.topics import pipelining  # isort: skip
from tilewise.engine.topics import findings  # isort: skip

__all__ = ["TOPICS", "banks", "barriers", "coalescing", "findings", "intensity", "pipelining", "registers", "rungs", "tiling"]
