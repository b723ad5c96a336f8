"""Why a rule found no match for one key in a span: the question and its answer, as they are shown.

Backtest with a question ──explanation_view──► ExplanationView: state, report, the same in words
"""

import json
from collections.abc import Sequence

from api.backtests.tables import Backtest
from api.store.views import view_of
from cep.printable import printable
from cep.trials.reports import SpanReport
from cep.trials.words import span_lines
from contract.service.explanations import ExplanationLine, ExplanationView


def explanation_view(question: Backtest, not_regarded: Sequence[str]) -> ExplanationView:
    """Return a question and its answer, and what that does not regard."""
    asked = json.loads(question.question or "{}")
    report = None
    if question.report is not None:
        report = SpanReport.model_validate_json(question.report)
    lines: list[tuple[str, str]] = []
    if report is not None:
        lines = [*span_lines(question.processor_id, report)]
        lines += [(f"  not regarded: {text}", "yellow") for text in not_regarded]
    return view_of(
        ExplanationView,
        question,
        version=question.version or 0,
        key=json.loads(asked["key"]),
        since=question.from_ms or 0,
        until=question.until_ms or 0,
        report=report,
        not_regarded=[printable(text) for text in not_regarded],
        lines=[ExplanationLine(text=printable(text), style=style) for text, style in lines],
    )
