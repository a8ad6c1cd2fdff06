"""Public words for what is asked of the rows and what came back. Nothing here ever holds a row."""

from dataclasses import is_dataclass

from synth.questions.choices import Choice, ChoiceRelease, Nearest, NearestRelease, Search, SearchRelease
from synth.questions.embeddings import Embedding, EmbeddingRelease, Score, TreeScore
from synth.questions.external import External, ExternalRelease
from synth.questions.features import Block, Encoding, Fourier, Gradients, Tensors, Term
from synth.questions.gradients import (
    Descent,
    DescentRelease,
    Pulls,
    PullsRelease,
    Step,
    StepRelease,
    TaughtRelease,
    Teachers,
    Votes,
    VotesRelease,
)
from synth.questions.kernels import FunctionalQuery, FunctionalRelease, GaussianKernel, ProductKernel
from synth.questions.linked import Linked, LinkedRelease, PublicCounts, PublicLinked
from synth.questions.slices import Slices, SlicesRelease
from synth.questions.tables import (
    Above,
    AboveRelease,
    Bins,
    Counts,
    CountsRelease,
    Laplace,
    LaplaceRelease,
    Marginal,
    Question,
    Release,
    Values,
    ValuesRelease,
    WeightedCounts,
    WeightedCountsRelease,
)

__all__ = [name for name, kind in list(vars().items()) if is_dataclass(kind)]  # what may be stored with a release
