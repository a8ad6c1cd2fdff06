"""How a nested mixture is fitted: its size, its steps, and how much its components may tell."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Options:
    """``fits``: mixtures from as many starts, which share the model. ``roots``: components of the root; ``children``:
    of each table below it; ``ranks``: of rows of one parent, told apart. Of few roots there are fewer components: one
    for so many as ``each`` times a table's noise.

    Adam for ``steps`` with a falling ``rate``, on the squared error in units of the noise and ``pull`` times the roots
    times ``mutual_information.dependence`` (its ``half``), twice that where there are half the components or fewer, and
    ``smooth`` times the roots times ``Roughness``. While the first is below the part ``stop`` of the cells, where a
    fit begins to follow the noise, only the others are followed; of few roots that part is greater by up to
    ``sooner``: less where it is negative, for their tables are shrunk to independence before.
    ``spread``: deviation of the starting logits around the one-ways; ``mixing``: of those of a child's components given
    its parent's. ``root``: how many times over the few tables of the root alone count, on which all others rest, until
    they are met. ``chance``: of the variance that the rows themselves have, as draws from a law, how much is added to
    the noise's: else a few large cells, known to a fraction of their own chance, would have all the classes. The root's
    own tables are then met by a step of their own.
    """

    fits: int = 6
    roots: int = 256
    children: int = 128
    each: float = 4.0
    ranks: int = 4
    steps: int = 600
    rate: float = 0.2
    last_rate: float = 0.01
    spread: float = 1.0
    mixing: float = 3.0
    stop: float = 0.6
    sooner: float = -0.2
    pull: float = 0.02
    half: float = 1.0
    root: float = 4.0
    chance: float = 0.3
    smooth: float = 0.2
