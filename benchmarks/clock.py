"""A reporter for measured runs: when each stage began, by the clock and by the processor."""

import time


class Clock:
    """Given to a run as its ``reporter``; it prints nothing."""

    def __init__(self) -> None:
        self.marks: list[tuple[str, float, float]] = []

    def stage(self, name: str) -> None:
        self.marks.append((name, time.perf_counter(), time.process_time()))

    def progress(self, fraction: float) -> None:
        pass

    def note(self, message: str) -> None:
        pass

    def told(self) -> dict[str, dict[str, float]]:
        """Of each stage the seconds and the processor's seconds."""
        ends = [*self.marks[1:], ("", time.perf_counter(), time.process_time())]
        out: dict[str, dict[str, float]] = {}
        for (name, wall, busy), (_, end, spent) in zip(self.marks, ends, strict=True):
            before = out.get(name, {"seconds": 0.0, "cpu_seconds": 0.0})
            out[name] = {"seconds": before["seconds"] + end - wall, "cpu_seconds": before["cpu_seconds"] + spent - busy}
        return out

    def seconds(self) -> dict[str, float]:
        """Of each stage the seconds."""
        return {name: told["seconds"] for name, told in self.told().items()}
