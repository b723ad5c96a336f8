"""Examples of what the service answers, one for each model, as OpenAPI shows them."""

from typing import Any, Final

_SEEN: Final = "2026-12-01T08:00:00.000Z"
_COUNTED: Final = {
    "events": 51_200,
    "matches": 41,
    "timeouts": 0,
    "errors": 0,
    "late": 3,
    "left_out": 0,
    "dropped": 0,
    "shadow": 0,
    "suppressed": 0,
}
_DOCUMENT: Final = {
    "id": "failed-logins",
    "stream": "logins",
    "key_by": ["user"],
    "pattern": {"steps": [{"name": "fail", "where": "action = 'fail'", "times": 3}]},
}
_SUMMARY: Final = {
    "id": "failed-logins",
    "stream": "logins",
    "state": "published",
    "version": 2,
    "revision": 3,
    "description": "Three failures in a row",
    "owner": "fraud",
    "tags": ["account-takeover"],
    "severity": "high",
    "warning_count": 0,
    "created_at": _SEEN,
    "created_by": "ana",
    "updated_at": _SEEN,
    "updated_by": "ana",
}
_VERSION: Final = {
    "version": 2,
    "effective_from": None,
    "effective_until": None,
    "is_published": True,
    "restored_version": None,
    "created_at": _SEEN,
    "created_by": "ana",
    "comment": "three instead of five",
}
_JOB: Final = {
    "id": "76e8efb03a031ed0",
    "name": "fraud-job",
    "state": "running",
    "epoch": 3,
    "watermark": _SEEN,
    "heartbeat_at": _SEEN,
    "stream": "logins",
    "instance_id": "6f1c1f0e-5a0b-4a30-9d0f-0d3d3f5f2b11",
    "properties": {"host": "driver-1"},
    "registered_at": _SEEN,
    "stopped_at": None,
    "stop_reason": "",
    "newest_epoch": 3,
    "batch_id": 120,
    "newest_event_time": _SEEN,
    "time_mode": "events",
    "silent_since": None,
    "events_per_second": 48_211.5,
    "batch_duration_ms": 1_830,
    "batch_running_ms": None,
    "backlog_events": 0,
    "counters": _COUNTED,
    "partial_matches": 312,
    "state_bytes": 40_960,
    "discovery": {
        "status": "ok",
        "last_success": _SEEN,
        "error": "",
        "unreadable": 0,
        "problems": [],
    },
    "versions": {"active": 1},
}
_INSTANCE: Final = {
    "instance_id": "6f1c1f0e-5a0b-4a30-9d0f-0d3d3f5f2b11",
    "registered_at": _SEEN,
    "ended_at": None,
    "end_reason": "",
}
_TRIAGE: Final = {
    "status": "acknowledged",
    "assignee": "ana",
    "revision": 8,
    "decided_at": _SEEN,
    "decided_by": "ana",
    "note_count": 1,
}
_MATCH: Final = {
    "number": 17,
    "match_id": "7d1f3b6e9a5c4d20",
    "stream": "logins",
    "job": "fraud-job",
    "kind": "match",
    "processor_id": "failed-logins",
    "version": 2,
    "epoch": 3,
    "key": ["eve"],
    "start": _SEEN,
    "end": _SEEN,
    "received_at": _SEEN,
    "output": {"user": "eve", "failures": 3},
    "event_count": 1,
    "triage": _TRIAGE,
}
_COUNTS: Final = {
    "open": 7,
    "acknowledged": 2,
    "false_positive": 3,
    "resolved": 20,
    "false_positive_rate": 0.12,
}
_HELD: Final = {
    "processor_id": "failed-logins",
    "version": 2,
    "state": "active",
    "since": _SEEN,
    "reported_at": _SEEN,
    "active_from": _SEEN,
    "active_until": None,
    "counters": _COUNTED,
    "partial_matches": 312,
    "state_bytes": 40_960,
    "last_match": _SEEN,
    "error": "",
    "traceback": "",
}
_PUBLISHED: Final = {"version": 2, "effective_from": None, "effective_until": None}
_JOB_SUMMARY: Final = {
    name: _JOB[name] for name in ("id", "name", "state", "epoch", "watermark", "heartbeat_at")
}
_IN_JOB: Final = {
    "job": _JOB_SUMMARY,
    "state": "active",
    "is_current": True,
    "live_version": 2,
    "live_from": _SEEN,
    "next_version": None,
    "next_from": None,
    "matches_last_hour": 41,
    "last_match": _SEEN,
    "partial_matches": 312,
    "state_bytes": 40_960,
    "errors": 0,
    "left_out": 0,
    "dropped": 0,
    "error": "",
}
_HISTORY: Final = {
    "bucket_seconds": 60,
    "times": [_SEEN],
    "series": {"events": [51_200], "matches": [41], "partial_matches": [None]},
}
_TOKEN: Final = {
    "id": "4f0c2d1e8b7a",
    "name": "ci",
    "role": "publisher",
    "created_at": _SEEN,
    "created_by": "ana",
    "expires_at": None,
    "revoked_at": None,
}
_EVENT: Final = {"user": "eve", "action": "fail", "ts": _SEEN}

ANSWER_EXAMPLES: Final[dict[str, dict[str, Any]]] = {
    "StreamView": {
        "name": "logins",
        "schema": "user STRING, action STRING, ts TIMESTAMP",
        "event_time_column": "ts",
        "allowed_delay_ms": 5_000,
        "order_by": ["user"],
        "description": "",
        "version": 1,
        "epoch": 3,
        "created_at": _SEEN,
        "created_by": "ana",
    },
    "Snapshot": {
        "format": 1,
        "epoch": 3,
        "stream": {
            "name": "logins",
            "version": 1,
            "schema": "user STRING, action STRING, ts TIMESTAMP",
            "event_time_column": "ts",
            "allowed_delay_ms": 5_000,
            "order_by": ["user"],
        },
        "rollouts": [],
        "processors": [
            {
                "id": "failed-logins",
                "paused": False,
                "versions": [
                    {
                        "version": 2,
                        "effective_from_ms": None,
                        "effective_until_ms": None,
                        "definition": {
                            "pattern": _DOCUMENT["pattern"],
                            "key_by": _DOCUMENT["key_by"],
                        },
                    }
                ],
            }
        ],
    },
    "ValidationReport": {"warnings": []},
    "ProcessorSummary": _SUMMARY,
    "ProcessorView": {
        **_SUMMARY,
        "published": [_PUBLISHED],
        "rollout": {"version": 3, "share_percent": 5.0},
        "warnings": [],
        "document": _DOCUMENT,
        "withdrawn": [],
    },
    "RolloutView": {
        "processor_id": "failed-logins",
        "stream": "logins",
        "version": 3,
        "published_versions": [2],
        "share_percent": 5.0,
        "created_at": _SEEN,
        "created_by": "ana",
        "jobs": [
            {
                "job": "fraud-job",
                "state": "canary",
                "active_from": _SEEN,
                "finds": 44,
                "counted": 2,
                "partial_matches": 312,
                "errors": 0,
                "error": "",
                "both": 40,
                "gained": 4,
                "lost": 1,
                "is_complete": True,
                "newest_gained": [
                    {
                        "match_id": "7d1f3b6e9a5c4d20",
                        "key_text": "eve",
                        "start": _SEEN,
                        "end": _SEEN,
                    }
                ],
                "newest_lost": [],
            }
        ],
    },
    "VersionSummary": _VERSION,
    "VersionView": {**_VERSION, "warnings": [], "document": _DOCUMENT},
    "Comparison": {
        "old_version": 1,
        "new_version": 2,
        "differences": [
            {"pointer": "/pattern/steps/fail/times", "change": "changed", "old": 5, "new": 3}
        ],
    },
    "DraftReport": {"document": _DOCUMENT, "problems": []},
    "SampleEvents": {"events": [_EVENT]},
    "TrialReport": {
        "times": [_SEEN],
        "fits": {"fail": [0]},
        "matches": [],
        "partial_matches": [
            {
                "key": ["eve"],
                "steps": {"fail": [0]},
                "start": _SEEN,
                "outcome": "open",
                "ended_at": None,
                "ended_by": None,
                "awaited": ["fail"],
                "forbidden": [],
            }
        ],
        "left_out": 0,
        "unknown_fields": [],
    },
    "Rewritten": {"text": "id: failed-logins\nstream: logins\n"},
    "RowPatternDrawing": {
        "pattern": {"kind": "variable", "name": "A"},
        "within": "10 minutes",
        "skip": {"to": "past_last_row"},
        "output": "ONE ROW PER MATCH",
        "measures": [{"name": "paid", "expression": "A.amount"}],
        "subsets": [],
        "text": "MATCH_RECOGNIZE (\n  PATTERN (A)\n  DEFINE A AS amount > 100\n)",
    },
    "RegisteredJob": {
        "id": "76e8efb03a031ed0",
        "heartbeat_seconds": 10,
        "stale_after_seconds": 30,
        "versions_per_heartbeat": 500,
        "matches_per_post": 500,
    },
    "JobView": _JOB,
    "JobDetail": {**_JOB, "instances": [_INSTANCE]},
    "HeartbeatAnswer": {"resend_all": False, "newest_epoch": 3},
    "HeldVersionView": _HELD,
    "History": _HISTORY,
    "RunningSummary": {
        "processor_id": "failed-logins",
        "state": "published",
        "published": [_PUBLISHED],
        "jobs": [_IN_JOB],
    },
    "RunningView": {
        "processor_id": "failed-logins",
        "stream": "logins",
        "state": "published",
        "published": [_PUBLISHED],
        "jobs": [{**_IN_JOB, "versions": [_HELD]}],
    },
    "RulesPage": {
        "items": [
            {
                **_SUMMARY,
                "key_by": ["user"],
                "published": [_PUBLISHED],
                "standing": "active",
                "running": _IN_JOB,
                "matches": [0, 3, 38],
                "triage": _COUNTS,
            }
        ],
        "next_cursor": None,
        "total": 1,
        "standings": {"active": 1},
        "problems": {},
        "job": _JOB_SUMMARY,
        "jobs": [_JOB_SUMMARY],
    },
    "RuleLabels": {
        "owners": [{"value": "fraud", "count": 1}],
        "tags": [{"value": "account-takeover", "count": 1}],
    },
    "SelectionResult": {"changed": ["failed-logins"]},
    "ChangeView": {
        "id": 42,
        "at": _SEEN,
        "actor": "ana",
        "actor_id": "9b1d0c7f2e35",
        "action": "processor.publish",
        "stream": "logins",
        "epoch": 3,
        "processor_id": "failed-logins",
        "old_version": 1,
        "new_version": 2,
        "subject": "failed-logins",
        "comment": "three instead of five",
        "request_id": "c1f0a9d2e4b84b57",
    },
    "Overview": {
        "at": _SEEN,
        "streams": [
            {
                "name": "logins",
                "epoch": 3,
                "allowed_delay_ms": 5_000,
                "rules": {"published": 1},
                "jobs": [{**_JOB, "history": _HISTORY}],
            }
        ],
        "attention": [
            {
                "concern": "quarantined",
                "urgency": "bad",
                "stream": "logins",
                "job": "fraud-job",
                "processor_id": "odd-hours",
                "version": 1,
                "at": _SEEN,
                "detail": "ValueError: unknown country",
            }
        ],
        "attention_left_out": 0,
        "jobs_left_out": 0,
    },
    "TokenView": _TOKEN,
    "NewToken": {**_TOKEN, "token": "percept_4f0c2d1e8b7a_shown_once"},
    "Health": {"status": "ok"},
    "MatchReceipt": {"added": 1, "known": 0},
    "MatchesPage": {"items": [_MATCH], "next_cursor": None, "newest_change": 8},
    "MatchView": {**_MATCH, "events": {"fail": [_EVENT]}},
    "TriageView": {
        **_TRIAGE,
        "match_id": "7d1f3b6e9a5c4d20",
        "stream": "logins",
        "job": "fraud-job",
        "kind": "match",
        "processor_id": "failed-logins",
        "version": 2,
        "key": ["eve"],
        "start": _SEEN,
        "end": _SEEN,
    },
    "TriageResult": {"changed": 57, "unchanged": 3, "next_cursor": None},
    "NoteView": {
        "number": 1,
        "at": _SEEN,
        "author": "ana",
        "author_id": "9b1d0c7f2e35a6b4",
        "text": "The customer was abroad.",
    },
    "RuleTriage": {"processor_id": "failed-logins", **_COUNTS},
    "AssigneeCount": {"value": "ana", "count": 9},
}
"""By the name of the model in the OpenAPI document; pages and lists are made of them."""
