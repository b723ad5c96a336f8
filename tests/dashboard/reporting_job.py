"""A job as the service sees one: it registers, reads the snapshot, reports heartbeats and matches.

It runs no events; a test says what it has found. Everything goes through the real HTTP API.
"""

import secrets
from dataclasses import dataclass, field
from typing import Any

import httpx2

from api.runtime import Clock
from contract.asked_keys import KeyAnswer, KeyAnswers
from contract.report_parts import VersionReport
from contract.reports import (
    Counters,
    Heartbeat,
    HeartbeatAnswer,
    JobRegistration,
    JobStop,
    MatchReport,
    RegisteredJob,
    ReportedGroup,
    ReportedMatch,
    RunningState,
    RunningVersion,
)

DELAY_MS = 5_000


@dataclass
class ReportingJob:
    """One instance of a job; `running` is what it holds, by processor and version."""

    client: httpx2.Client
    now_ms: Clock
    stream: str = "logins"
    name: str = "main"
    id: str = ""
    epoch: int = 0
    sequence: int = 0
    events: int = 0
    running: dict[tuple[str, int], RunningVersion] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.instance_id = secrets.token_hex(8)
        self._report = VersionReport()
        registration = JobRegistration(
            instance_id=self.instance_id, properties={"percept": "0.1.0", "host": "driver-1"}
        )
        path = f"/v1/streams/{self.stream}/jobs/{self.name}"
        self.id = RegisteredJob.model_validate(self._sent("PUT", path, registration)).id

    def run_batch(
        self, *, events: int = 1_000, newest_event_ms: int | None = None, **gauges: Any
    ) -> None:
        """Take up the newest snapshot as a batch does, and report, with more fields if wanted."""
        newest_ms = self.now_ms() if newest_event_ms is None else newest_event_ms
        self.take_up(newest_ms)
        self.events += events
        self.beat(newest_event_ms=newest_ms, watermark_ms=newest_ms - DELAY_MS, **gauges)

    def take_up(self, newest_event_ms: int) -> None:
        """Read the snapshot and hold what is in it; what is already active stays so."""
        answer = self.client.get(f"/v1/streams/{self.stream}/snapshot")
        assert answer.is_success, answer.text
        snapshot = answer.json()
        self.epoch = snapshot["epoch"]
        now = {}
        for processor in snapshot["processors"]:
            for version in processor["versions"]:
                held = self._held(processor, version, newest_event_ms)
                now[held.processor_id, held.version] = held
        self.running = _without_replaced(now)
        for rollout in snapshot.get("rollouts", []):
            tried = {"id": rollout["id"], "paused": False}
            held = self._held(tried, rollout["version"], newest_event_ms)
            state = "canary" if rollout["share"] else "shadow"
            self.running[tried["id"], held.version] = held.model_copy(update={"state": state})

    def beat(self, **gauges: Any) -> HeartbeatAnswer:
        """Report what runs; further fields of the heartbeat may be given."""
        part = self._report.next_part(self.running.values())
        self.sequence += 1
        matches = sum(version.counters.matches for version in self.running.values())
        fields: dict[str, Any] = {
            "epoch": self.epoch,
            "batch_id": self.sequence,
            "events_per_second": 250.0,
            "batch_duration_ms": 1_830,
            "backlog_events": 0,
            "counters": Counters(events=self.events, matches=matches),
            "partial_matches": sum(each.partial_matches for each in self.running.values()),
        } | gauges
        heartbeat = Heartbeat(
            instance_id=self.instance_id,
            sequence=self.sequence,
            versions=part.versions,
            held_versions=part.held_versions,
            replaces_all=part.replaces_all,
            **fields,
        )
        body = self._sent("POST", f"/v1/jobs/{self.id}/heartbeats", heartbeat)
        answer = HeartbeatAnswer.model_validate(body)
        self._report.acknowledge(part, answer)
        return answer

    def tell(self, *answers: KeyAnswer) -> None:
        told = KeyAnswers(instance_id=self.instance_id, answers=list(answers))
        self._sent("POST", f"/v1/jobs/{self.id}/key-answers", told)

    def change(self, processor_id: str, version: int, **fields: Any) -> None:
        """Change what is held of a version, such as its counters; reported by the next beat."""
        key = (processor_id, version)
        self.running[key] = self.running[key].model_copy(update=fields)

    def quarantine(
        self, processor_id: str, version: int, error: str, traceback: str = "", **more: Any
    ) -> None:
        """Hold a version as one that has raised an error."""
        counters = self.running[processor_id, version].counters.model_copy(update={"errors": 1})
        told = {"state": "quarantined", "error": error, "traceback": traceback} | more
        self.change(processor_id, version, counters=counters, **told)

    def find(self, processor_id: str, version: int, **fields: Any) -> ReportedMatch:
        """Post a match and count it; returns it."""
        end_ms = fields.get("end_ms", self.now_ms() - 1_000)
        failed_ms = [end_ms - 60_000 + place * 20_000 for place in range(3)]
        events = {
            "fail": [{"ts": ts, "user": "eve", "action": "fail"} for ts in failed_ms],
            "login": [{"ts": end_ms, "user": "eve", "action": "login"}],
        }
        which = {"processor_id": processor_id, "version": version, "epoch": self.epoch}
        what = {"key": ["eve"], "output": {"user": "eve"}, "events": events}
        times = {"start_ms": end_ms - 60_000, "end_ms": end_ms}
        told = which | what | times | {"match_id": secrets.token_hex(8)} | fields
        match = ReportedMatch.model_validate(told)
        report = MatchReport(job=self.name, matches=[match])
        self._sent("POST", f"/v1/streams/{self.stream}/matches", report)
        if (held := self.running.get((processor_id, version))) is not None:
            counters = held.counters.model_copy(update={"matches": held.counters.matches + 1})
            self.change(processor_id, version, counters=counters, last_match_ms=match.end_ms)
        return match

    def tell_group(self, match: ReportedMatch, matches: int, **fields: Any) -> None:
        """Post what a match stands for, of a window of an hour."""
        from_ms = match.end_ms - match.end_ms % 3_600_000
        same = match.model_dump(include={"match_id", "group_id", "processor_id", "version"})
        window = {"from_ms": from_ms, "until_ms": from_ms + 3_600_000}
        told = same | window | {"matches": matches, "keys": matches} | fields
        group = ReportedGroup.model_validate(told)
        report = MatchReport(job=self.name, matches=[], groups=[group])
        self._sent("POST", f"/v1/streams/{self.stream}/matches", report)

    def stop(self, reason: str) -> None:
        announcement = JobStop(instance_id=self.instance_id, reason=reason)
        self._sent("POST", f"/v1/jobs/{self.id}/stop", announcement)

    def _held(
        self, processor: dict[str, Any], version: dict[str, Any], newest_event_ms: int
    ) -> RunningVersion:
        key = (processor["id"], version["version"])
        before = self.running.get(key)
        from_ms: int | None = version["effective_from_ms"]
        if before and before.active_from_ms is not None and before.state != "pending":
            from_ms = before.active_from_ms
        active_from_ms = newest_event_ms + 1 if from_ms is None else from_ms
        state: RunningState = "active" if active_from_ms <= newest_event_ms + 1 else "pending"
        if processor["paused"]:
            state = "paused"
        if before and before.state == "quarantined":
            state = "quarantined"
        held = before or RunningVersion(processor_id=key[0], version=key[1], state=state)
        until_ms = version["effective_until_ms"]
        interval = {"active_from_ms": active_from_ms, "active_until_ms": until_ms}
        return held.model_copy(update={"state": state, **interval})

    def _sent(self, method: str, path: str, body: Any) -> Any:
        answer = self.client.request(method, path, json=body.model_dump(mode="json"))
        assert answer.is_success, answer.text
        return answer.json()


def _without_replaced(
    held: dict[tuple[str, int], RunningVersion],
) -> dict[tuple[str, int], RunningVersion]:
    """Leave out versions in whose place a higher one is active."""
    active = [key for key, version in held.items() if version.state == "active"]
    highest = dict(sorted(active))
    return {key: version for key, version in held.items() if key[1] >= highest.get(key[0], 0)}
