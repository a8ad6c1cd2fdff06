"""Public words for what is asked of the rows and what came back. Nothing here ever holds a row."""

from synth.questions.encoding import Block, Encoding
from synth.questions.slices import Slices, SlicesRelease
from synth.questions.tables import Bins, Counts, CountsRelease, Marginal
from synth.questions.values import Values, ValuesRelease

Question = Counts | Values | Slices
Release = CountsRelease | ValuesRelease | SlicesRelease

__all__ = [
    "Bins",
    "Block",
    "Counts",
    "CountsRelease",
    "Encoding",
    "Marginal",
    "Question",
    "Release",
    "Slices",
    "SlicesRelease",
    "Values",
    "ValuesRelease",
]
