"""Figures of a scenario: each measured several times on both sides."""

import statistics


class Figure:
    """A number with a unit; "better" says which way: "higher", "lower", or None if neither is."""

    def __init__(self, name, unit, better):
        self.name, self.unit, self.better = name, unit, better
        self.heap, self.zheap = [], []

    def add(self, side, value):
        if value is not None:
            getattr(self, side).append(value)

    def median(self, side):
        values = getattr(self, side)
        return statistics.median(values) if values else None

    def ratios(self):
        return [z / h for h, z in zip(self.heap, self.zheap) if h]

    def ratio(self):
        """The median of the pairs' ratios zheap/heap."""
        ratios = self.ratios()
        return statistics.median(ratios) if ratios else None

    def ahead(self):
        """Which side is ahead by more than 3 per cent; None: neither."""
        ratio = self.ratio()
        if ratio is None or self.better is None or abs(ratio - 1) <= 0.03:
            return None
        return "zheap" if (ratio > 1) == (self.better == "higher") else "heap"

    def as_dict(self):
        return {"name": self.name, "unit": self.unit, "better": self.better, "heap": self.heap,
                "zheap": self.zheap, "ratio": self.ratio(), "ratios": self.ratios()}


class Plot:
    """Lines over a common x: {label: [(x, y), ...]}; or bars where x are names."""

    def __init__(self, name, title, x, y, lines, log_x=False):
        self.name, self.title, self.x, self.y, self.lines = name, title, x, y, lines
        self.log_x = log_x


class Result:
    def __init__(self, name):
        self.name = name
        self.figures = []
        self.plots = []
        self.notes = []

    def figure(self, name, unit, better):
        for figure in self.figures:
            if figure.name == name:
                return figure
        self.figures.append(Figure(name, unit, better))
        return self.figures[-1]

    def add_load(self, side, load, label="", latency=True):
        """The figures that every load has."""
        prefix = f"{label}: " if label else ""
        self.figure(f"{prefix}transactions", "1/s", "higher").add(side, load.tps)
        self.figure(f"{prefix}processor time of a transaction", "ms", "lower").add(
            side, load.processor_per_transaction())
        self.figure(f"{prefix}WAL of a transaction", "bytes", "lower").add(
            side, load.wal_per_transaction())
        if latency:
            for text, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)):
                self.figure(f"{prefix}latency {text}", "ms", "lower").add(
                    side, load.percentile(share))
