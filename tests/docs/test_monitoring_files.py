"""examples/monitoring: alerts and dashboard ask for metrics that the service has, with labels."""

import json
from collections.abc import Iterator
from typing import Any

import promql_parser
import yaml
from promql_parser import Expr, VectorSelector

from tests.docs.fences import ROOT, rows

FOLDER = ROOT / "examples/monitoring"
ALERTS: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((FOLDER / "prometheus-alerts.yaml").read_text("utf-8"))["groups"]
    for rule in group["rules"]
]
BOARD: dict[str, Any] = json.loads((FOLDER / "grafana-dashboard.json").read_text("utf-8"))
METRICS = {
    name: set(labels.rstrip("}").split(",")) - {""}
    for row in rows("docs/operations.md", "metric", "meaning")
    for name, _, labels in [row["metric"].strip("`").partition("{")]
}
# What Prometheus makes of a histogram.
for suffix, more in (("_bucket", {"le"}), ("_count", set()), ("_sum", set())):
    METRICS[f"percept_http_request_seconds{suffix}"] = (
        METRICS["percept_http_request_seconds"] | more
    )
QUERIES = {
    **{rule["alert"]: rule["expr"] for rule in ALERTS},
    **{
        f"{panel['title']} {target['refId']}": target["expr"]
        for panel in BOARD["panels"]
        for target in panel.get("targets", ())
    },
    **{each["name"]: each["expr"] for each in BOARD["annotations"]["list"]},
}


def selectors(expression: Expr) -> Iterator[VectorSelector]:
    """Yield the metrics that a query selects, with what it wants of their labels."""
    if isinstance(expression, VectorSelector):
        yield expression
    for name in ("expr", "lhs", "rhs", "vector_selector", "args"):
        part = getattr(expression, name, None)
        for each in part if isinstance(part, list | tuple) else [part]:
            if each is not None:
                yield from selectors(each)


def test_queries_are_promql_about_metrics_that_are_there() -> None:
    for name, query in QUERIES.items():
        asked = list(selectors(promql_parser.parse(query.replace("$__rate_interval", "5m"))))
        assert asked, name
        for one in asked:
            labels = {matcher.name for matcher in one.matchers.matchers}
            assert labels <= METRICS[str(one.name)], name


def test_alerts_say_what_they_are_about_by_labels_that_they_have() -> None:
    assert ALERTS
    for rule in ALERTS:
        told = rule["annotations"]
        assert told.keys() == {"summary", "description"}, rule["alert"]
        assert rule["labels"]["severity"] in {"warning", "critical"}, rule["alert"]
        for label in ("stream", "job", "webhook"):
            if f"$labels.{label}" in told["summary"] + told["description"]:
                assert label in rule["expr"].partition(" (percept")[0], rule["alert"]


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken, panel["title"]
        assert at["x"] + at["w"] <= 24
        taken |= cells
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
