"""Public words for what is asked of the rows and what came back. Nothing here ever holds a row."""

from synth.questions.embeddings import Embedding, EmbeddingRelease
from synth.questions.encoding import Block, Encoding
from synth.questions.external import External, ExternalRelease
from synth.questions.features import Fourier, Gradients, Tensors, Term
from synth.questions.functional import FunctionalQuery, FunctionalRelease
from synth.questions.gradients import Descent, DescentRelease, Step, StepRelease
from synth.questions.kernels import GaussianKernel, ProductKernel
from synth.questions.linked import Linked, LinkedRelease
from synth.questions.nearest import Nearest, NearestRelease
from synth.questions.public import PublicCounts, PublicLinked
from synth.questions.pulls import Pulls, PullsRelease
from synth.questions.pure import Above, AboveRelease, Laplace, LaplaceRelease
from synth.questions.scores import Score, TreeScore
from synth.questions.search import Search, SearchRelease
from synth.questions.selection import Choice, ChoiceRelease
from synth.questions.slices import Slices, SlicesRelease
from synth.questions.tables import Bins, Counts, CountsRelease, Marginal
from synth.questions.values import Values, ValuesRelease
from synth.questions.votes import TaughtRelease, Teachers, Votes, VotesRelease
from synth.questions.weighted_counts import WeightedCounts, WeightedCountsRelease

Question = (
    Counts
    | Linked
    | Values
    | Slices
    | Embedding
    | FunctionalQuery
    | External
    | Choice
    | Search
    | Step
    | Votes
    | Nearest
    | Pulls
    | WeightedCounts
    | Laplace
    | Above
)
Release = (
    CountsRelease
    | LinkedRelease
    | ValuesRelease
    | SlicesRelease
    | EmbeddingRelease
    | FunctionalRelease
    | ExternalRelease
    | ChoiceRelease
    | SearchRelease
    | StepRelease
    | DescentRelease
    | VotesRelease
    | TaughtRelease
    | NearestRelease
    | PublicCounts
    | PublicLinked
    | PullsRelease
    | WeightedCountsRelease
    | LaplaceRelease
    | AboveRelease
)

__all__ = [
    "Above",
    "AboveRelease",
    "Bins",
    "Block",
    "Choice",
    "ChoiceRelease",
    "Counts",
    "CountsRelease",
    "Descent",
    "DescentRelease",
    "Embedding",
    "EmbeddingRelease",
    "Encoding",
    "External",
    "ExternalRelease",
    "Fourier",
    "FunctionalQuery",
    "FunctionalRelease",
    "GaussianKernel",
    "Gradients",
    "Laplace",
    "LaplaceRelease",
    "Linked",
    "LinkedRelease",
    "Marginal",
    "Nearest",
    "NearestRelease",
    "ProductKernel",
    "PublicCounts",
    "PublicLinked",
    "Pulls",
    "PullsRelease",
    "Question",
    "Release",
    "Score",
    "Search",
    "SearchRelease",
    "Slices",
    "SlicesRelease",
    "Step",
    "StepRelease",
    "TaughtRelease",
    "Teachers",
    "Tensors",
    "Term",
    "TreeScore",
    "Values",
    "ValuesRelease",
    "Votes",
    "VotesRelease",
    "WeightedCounts",
    "WeightedCountsRelease",
]
