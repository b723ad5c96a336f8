"""The plots of docs/performance.md, from figures that benchmarks have recorded.

python -m benchmarks.plots benchmarks/results/2026-11-25.jsonl
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, PercentFormatter

Figures = Sequence[Mapping[str, Any]]

FOLDER: Final = Path(__file__).parent.parent / "docs" / "images" / "performance"
PERCEPT, FLINK, FLOOR = "#0b6bcb", "#c4491d", "#7a828a"
SAME_SHAPE: Final = ("A1", "A10", "A100r")


def of_rules(axes: Axes, rows: Figures) -> None:
    """Draw events per second over the number of rules of one shape."""
    shown = [row for row in rows if row["part"] == "rules" and row["workload"] in SAME_SHAPE]
    rules = [row["rules"] for row in shown]
    for label, name, color in (
        ("Spark alone, without rules", "floor_per_second", FLOOR),
        ("Percept", "percept_per_second", PERCEPT),
        ("Flink CEP 2.3", "flink_per_second", FLINK),
    ):
        axes.plot(rules, [row[name] for row in shown], "o-", label=label, color=color)
    axes.set(xscale="log", yscale="log", xlabel="rules", ylabel="events per second")
    axes.set_xticks(rules, [f"{count:,}" for count in rules])
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))


def of_keys(axes: Axes, rows: Figures) -> None:
    """Draw the time of a batch of 10,000 events over the number of live keys."""
    shown = [row for row in rows if row["part"] == "keys"]
    keys = [row["keys"] for row in shown]
    times = [row["batch_ms"] / 1_000 for row in shown]
    axes.plot(keys, times, "o-", color=PERCEPT, label="Percept")
    axes.set(xscale="log", xlabel="live keys", ylabel="seconds per batch of 10,000 events")
    axes.set_xticks(keys, [f"{count:,}" for count in keys])
    axes.set_ylim(0, 1.2 * max(times))


def of_latency(axes: Axes, rows: Figures) -> None:
    """Draw which part of the matches is written within how many seconds."""
    for row in (row for row in rows if row["part"] == "latency"):
        seconds = row["percentiles_seconds"]
        label = f"trigger {row['trigger']}, {row['rate']:,} events/s"
        axes.plot(seconds, range(1, len(seconds) + 1), label=label)
    axes.set(xlabel="seconds from arrival to written match", ylabel="part of matches")
    axes.yaxis.set_major_formatter(PercentFormatter())
    axes.set_xlim(left=0)
    axes.set_ylim(0, 100)


def main() -> None:
    """Draw what has been recorded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="lines of JSON, as --record writes them")
    rows = [json.loads(line) for line in parser.parse_args().results.read_text().splitlines()]
    mpl.rcParams["svg.hashsalt"] = "percept"  # the same figures, the same file
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, draw in (("rules", of_rules), ("keys", of_keys), ("latency", of_latency)):
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        axes = figure.subplots()
        draw(axes, rows)
        axes.grid(alpha=0.3)
        figure.legend(loc="outside upper center", ncols=3, frameon=False)
        figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
        print(FOLDER / f"{name}.svg")


if __name__ == "__main__":
    main()
