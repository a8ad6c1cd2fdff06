"""Pages for people: the steward's report, the publishable report, the release card. None needs a network or a script.

Charts are drawn here as SVG, once, so a page has no plotting script to carry, opens anywhere and can be printed.

The room can be called: ``synth.report(release, out)`` is ``handed_over.report``, whose name the room would hide.
"""

import sys
from types import ModuleType
from typing import Any

import synth


class _Room(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return synth.at_home("report.handed_over:report", "")(*arguments, **options)


sys.modules[__name__].__class__ = _Room
