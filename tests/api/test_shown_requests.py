"""Pages of the documentation: every request on them is answered as the page says."""

import json
import re
from dataclasses import dataclass

from contract.service.explanations import ExplanationRequest
from contract.service.tokens import Role
from tests.api.documents import ANY_STATE, processor_document
from tests.api.jobs import ReportingJob, running
from tests.api.people import token_of
from tests.api.running import START_MS, Service
from tests.api.test_diagnosis import HEALTHY, read
from tests.api.test_partial_matches import partial_match
from tests.api.test_serve import shows
from tests.api.triage import TRIAGE, found, post
from tests.docs.fences import ROOT

EXCHANGE = re.compile(
    r"^```http\n([A-Z]+) (\S+)\n((?:[A-Z][A-Za-z-]+: [^\n]*\n)*)(.*?)```\n(?:```json\n(.*?)```$)?",
    re.MULTILINE | re.DOTALL,
)
LABELS = re.compile(r"^```csv\n(.*?)```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Exchange:
    """A request that a page shows, and the answer below it, if there is one."""

    method: str
    path: str
    headers: dict[str, str]
    body: str
    shown: str


def text_of(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


def exchanges(page: str, count: int) -> list[Exchange]:
    """Return all of a page; fails if there are not as many as are expected."""
    text = text_of(page)
    shown = [
        Exchange(method, path, dict(line.split(": ", 1) for line in lines.splitlines()), body, json)
        for method, path, lines, body, json in EXCHANGE.findall(text)
    ]
    assert len(shown) == text.count("```http") == count
    return shown


def answered(service: Service, asked: Exchange, writer: Role, **names: str) -> None:
    """Make a request as its page says, as a viewer or a writer; `names` stand in braces on it."""

    def filled(text: str) -> str:
        for name, value in names.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    role = Role.VIEWER if asked.method == "GET" else writer
    headers = service.as_role(role) | {"Content-Type": "application/json"} | asked.headers
    path, body = filled(asked.path), asked.body.strip()
    answer = service.client.request(asked.method, path, content=body, headers=headers)
    told = f"{asked.method} {asked.path}: {answer.text}"
    if asked.shown:
        assert shows(json.loads(filled(asked.shown)), answer.json()), told
    else:
        assert answer.is_success, told


def test_of_jobs(with_rule: Service) -> None:
    registered = ReportingJob(with_rule, instance="6f1c1f0e-0001")
    for asked in exchanges("jobs.md", 6):
        answered(with_rule, asked, Role.JOB, job_id=registered.id)


def test_of_lists_of_triage_and_its_labels(with_stream: Service) -> None:
    for asked in exchanges("lists.md", 9):
        answered(with_stream, asked, Role.PUBLISHER)
    times = {"start_ms": START_MS - 100_000, "end_ms": START_MS - 10_000}
    ids = [f"7d1f3b6e9a5c4d2{number}" for number in range(3)]
    post(with_stream, *(found(at, match_id=name, **times) for at, name in enumerate(ids)))
    for asked in exchanges("triage.md", 8):
        answered(with_stream, asked, Role.AUTHOR)
    (labels,) = LABELS.findall(text_of("triage.md"))
    exported = with_stream.client.get(f"{TRIAGE}/labels").text
    assert set(labels.splitlines()) <= set(exported.splitlines())


def test_of_approvals_refusals_included(with_stream: Service) -> None:
    steps = [{"name": "fail", "where": "action = 'fail'", "times": 3}]
    with_stream.publish(**processor_document(pattern={"steps": steps, "within": "10 minutes"}))
    tokens = {
        "$ADMIN": with_stream.token_of[Role.ADMIN],
        "$ANA": token_of(with_stream, "ana", person="ana").token,
        "$BOB": token_of(with_stream, "bob", person="bob").token,
    }
    lists = "/v1/streams/logins/lists"
    with_stream.client.post(lists, json={"name": "vip"})
    with_stream.client.put(f"{lists}/vip/values", json=["ana", "bob"], headers=ANY_STATE)
    for asked in exchanges("approvals.md", 7):
        scheme, who = asked.headers["Authorization"].split()
        asked.headers["Authorization"] = f"{scheme} {tokens[who]}"
        answered(with_stream, asked, Role.PUBLISHER)


STEP = {"name": "fail", "reached": 410, "events": 1_230, "timed_out": 398}
OPEN = {
    "batch_id": 18,
    "watermark_ms": START_MS + 4_000,
    "open": 1,
    "partial_matches": [partial_match(START_MS + 1_000, START_MS + 3_000, START_MS + 601_000)],
}


def test_of_why_a_rule_finds_nothing(with_rule: Service) -> None:
    job = ReportingJob(with_rule)
    step = STEP | {"last_event_ms": START_MS - 2_000}
    report = running(steps=[step], partial_matches=12, counters={"events": 1_230})
    job.beat(report, **HEALTHY | {"counters": {"events": 91_000}})
    *reads, asking = exchanges("why.md", 4)
    assert [asked.method for asked in (*reads, asking)] == ["GET", "GET", "GET", "POST"]
    ExplanationRequest.model_validate_json(asking.shown)  # a worker answers it
    for asked in reads:
        if (what := asked.path.removeprefix("/v1/processors/failed-logins/")).startswith("partial"):
            read(with_rule, what)
            (question,) = job.beat(report)["asked_keys"]
            job.tell({"id": question["id"], **OPEN})
        answered(with_rule, asked, Role.AUTHOR)
