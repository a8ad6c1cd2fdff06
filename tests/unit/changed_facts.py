"""Facts with a part replaced."""

import copy


def changed(facts, **at):
    """A copy with parts replaced, each named by its path with __ between steps."""
    plain = copy.deepcopy(facts)
    for path, value in at.items():
        *way, last = (int(p) if p.isdigit() else p for p in path.split("__"))
        place = plain
        for step in way:
            place = place[step]
        place[last] = value
    return plain
