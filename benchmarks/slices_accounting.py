"""How much noise slices need: the published bound, the exact profile, and a rotation, for the same claim.

    python benchmarks/slices_accounting.py [--delta 1e-5]

Noise for one row more or less, norm at most 1, no reserves; and what the published noise really guarantees.
"""

import argparse

from synth.privacy.accounting.slice_profile import Shift, epsilon_at, sigma_at, theorem_1

SHAPES = ((100, 1), (100, 10), (100, 50), (100, 100), (100, 400), (788, 10), (788, 100), (788, 788))
EPSILONS = (0.2, 1.0, 5.1, 8.1)


def row(epsilon: float, delta: float, dim: int, slices: int) -> list[str]:
    """One line of the table. With a rotation, more slices than coordinates tell no more than the sums themselves."""
    law, turned = Shift(dim, slices), Shift(dim, slices, "rotation")
    published = theorem_1(epsilon, delta, dim=dim, num_slices=slices)
    scale = max(1.0, slices / dim) ** 0.5  # of the same sums, told as all slices of a longer rotation
    exact, rotation = sigma_at(epsilon, delta, law), sigma_at(epsilon, delta, turned) * scale
    true = epsilon_at(delta, law, ratio=1 / published)
    return [
        f"{epsilon:g}",
        f"{dim}",
        f"{slices}",
        f"{published:.3f}",
        f"{exact:.3f}",
        f"{rotation:.3f}",
        f"{100 * (1 - exact / published):.0f} %",
        f"{100 * (1 - rotation / published):.0f} %",
        f"{true:.2f}",
    ]


def main() -> None:
    """Prints the table in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--delta", type=float, default=1e-5)
    delta = parser.parse_args().delta
    heads = [
        "epsilon",
        "d",
        "slices",
        "Theorem 1",
        "exact profile",
        "rotation",
        "saved",
        "saved (rotation)",
        "true epsilon",
    ]
    print(f"sigma for delta {delta:g}; the last column: of Theorem 1's noise\n")
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for epsilon in EPSILONS:
        for dim, slices in SHAPES:
            print("| " + " | ".join(row(epsilon, delta, dim, slices)) + " |")


if __name__ == "__main__":
    main()
