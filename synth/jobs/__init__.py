"""Long runs: a folder for each, a reporter of progress for the worker, a gauge of peak memory."""

from synth.jobs.folder import Cancelled, Job, Status, create, home, listing
from synth.jobs.memory import PeakMemory
from synth.jobs.reporter import Reporter
from synth.jobs.signals import uninterrupted

__all__ = ["Cancelled", "Job", "PeakMemory", "Reporter", "Status", "create", "home", "listing", "uninterrupted"]
