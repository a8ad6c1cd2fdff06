"""Long runs: a folder for each, a line to stand in, a reporter of progress, a gauge of peak memory, who saw what."""

from synth.files.whole_files import write as write_file
from synth.jobs import asked, looks
from synth.jobs.job import (
    AS_ASKED,
    COUNTS,
    DESCRIPTION,
    FOLDER,
    LEARNT,
    QUEUED,
    RUN,
    UNSAID,
    Cancelled,
    Job,
    Status,
    ahead,
    alive,
    create,
    each,
    home,
    identity,
    listing,
    read_json,
    those,
)
from synth.jobs.memory import PeakMemory, give_back
from synth.jobs.reporter import Reporter, uninterrupted
from synth.jobs.stages import stage_in_words
