"""The audit of the whole way as a self-contained page: every canary, what it is made for, what was seen with it."""

from synth.evaluate.audit.whole import Sight, WholeAudit
from synth.report.html import facts, note, page, section, table, text

HEADS = ["canary", "table", "made to show", "contradicted", "seen by", "distance, at least", "claimed",
         "noise / claimed"]  # fmt: skip


def whole_page(found: WholeAudit) -> str:
    """The page of an audit from files to release folders."""
    verdict = "contradicted" if found.violated else "not contradicted"
    return page(
        f"Audit of {found.method} from file to release",
        text(f"The claim is {verdict}. Each canary is a pair of made-up tables that differ by one unit. Both were "
             f"written to files, and {found.draws} whole runs were made of either: the file was read, cells placed, a "
             "person's rows bounded, the ledger charged, noise drawn, and everything written. Exit codes, messages, "
             "what was printed, names and sizes of files, and all that stands in the release folder and the job's "
             "folder were then told apart. That nothing is found proves nothing; the guarantee rests on its proof."),
        facts([("method", found.method), ("claim", f"epsilon {found.epsilon:g}, delta {found.delta:g}"),
               ("relation", found.relation), ("draws of each table", found.draws),
               ("confidence of all together", f"{100 * found.confidence:.4g} %"), ("seconds", f"{found.seconds:.0f}")]),
        section("Canaries", table(HEADS, [_line(s) for s in found.sights])),
        note("Distance: between the two tables' first answers, in units of the claimed noise; a claim says that it is "
             "no larger than mu. Noise below 1 is smaller than the card says; cells placed at random add to it."),
        note(f"Left out: {'; '.join(found.left_out)}."),
    )  # fmt: skip


def _line(sight: Sight) -> list[str]:
    told, claimed = sight.moments, sight.finding.claim.mu
    return [sight.name, sight.kind, sight.shows, "yes" if sight.violated else "no", sight.seen_by,
            "-" if told is None else f"{told.mu:.3f}", "-" if claimed is None else f"{claimed:.3f}",
            "-" if told is None else f"{told.noise_found:.2f}"]  # fmt: skip
