"""How much noise slices need: the published bound, the exact profile, and a rotation, for the same claim.

    python benchmarks/slices_accounting.py [--delta 1e-5]

Noise for one row more or less, norm at most 1, no reserves; and what the published noise really guarantees.
"""

from markdown_tables import filled
from runner import Row, grid, start, write

from synth.privacy.accounting.slice_profile import Shift, epsilon_at, sigma_at, theorem_1

SHAPES = ((100, 1), (100, 10), (100, 50), (100, 100), (100, 400), (788, 10), (788, 100), (788, 788))
HEADS = "epsilon|d|slices|Theorem 1|exact profile|rotation|saved|saved (rotation)|true epsilon"
CELLS = "{epsilon:g}|{shape[0]}|{shape[1]}|{bound:.3f}|{exact:.3f}|{rotation:.3f}|{saved:.0%}|{more:.0%}|{true:.2f}"


SAMPLED_HEADS = "epsilon|sigma unsampled|sampled, zeros|sampled, fixed|the paper's own accounting"
SAMPLED_CELLS = "{epsilon:g}|{all:.3f}|{zeros:.3f}|{fixed:.3f}|{printed:.3f}"


def needed(epsilon: float, delta: float, shape: tuple[int, int]) -> Row:
    """One line of the table. With a rotation, more slices than coordinates tell no more than the sums themselves."""
    dim, slices = shape
    law, turned = Shift(dim, slices), Shift(dim, slices, "rotation")
    bound = theorem_1(epsilon, delta, dim=dim, num_slices=slices)
    scale = max(1.0, slices / dim) ** 0.5  # of the same sums, told as all slices of a longer rotation
    exact, rotation = sigma_at(epsilon, delta, law), sigma_at(epsilon, delta, turned) * scale
    result = {"epsilon": epsilon, "shape": shape, "bound": bound, "exact": exact, "rotation": rotation}
    result |= {"saved": 1 - exact / bound, "more": 1 - rotation / bound}
    return result | {"true": epsilon_at(delta, law, ratio=1 / bound)}


def sampled(epsilon: float, delta: float) -> Row:
    """Noise without a sample, of the two forms that have a proof, and by Lemma 1 as printed."""
    law = Shift(778, 200)
    return {
        "epsilon": epsilon,
        "all": sigma_at(epsilon, delta, law),
        "zeros": sigma_at(epsilon, delta, law, rate=0.25),
        "fixed": sigma_at(epsilon, delta, law, rate=0.25, swap=2**0.5),
        "printed": theorem_1(epsilon, delta, dim=778, num_slices=200, rate=0.25),
    }


def of_samples(delta: float = 1e-5) -> str:
    """The table of ``sampled``."""
    return filled([sampled(e, delta) for e in (5.1, 8.1)], SAMPLED_HEADS, SAMPLED_CELLS)


def main(given) -> None:
    rows = [needed(delta=given.delta, **cell) for cell in grid(epsilon=[0.2, 1.0, 5.1, 8.1], shape=SHAPES)]
    print(f"sigma for delta {given.delta:g}; the last column: of Theorem 1's noise\n")
    print(filled(write(given.json, rows), HEADS, CELLS))
    print("\nA quarter of the rows sampled (778 coordinates, 200 slices):\n")
    print(of_samples(given.delta))


if __name__ == "__main__":
    start(main, delta=1e-5)
