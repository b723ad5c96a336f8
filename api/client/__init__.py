"""The Python client of the rule service; needs httpx2 and the core, nothing of the service.

Pattern ──sign──► document ──Client──► rule service ◄── jobs
                              └─ wait_until_running ─┘

from percept import Client

with Client("https://rules.example.com", token) as client:
    published = client.publish("logins", "failed-logins", pattern=pattern, key_by=["user"])
    client.wait_until_running("logins", "failed-logins", published.version)
"""

from api.client.client import Client
from api.client.errors import (
    Conflict,
    Flaw,
    Invalid,
    NotAllowed,
    NotFound,
    NotRunning,
    Outdated,
    ServiceError,
    Unreachable,
)
from api.client.match_views import (
    Label,
    Match,
    MatchLine,
    MatchTriage,
    Note,
    RuleTriage,
    Triage,
    TriageResult,
)
from api.client.rollouts import Rollout, RolloutClient, RolloutInJob
from api.client.views import (
    Processor,
    ProcessorLine,
    PublishedVersion,
    Running,
    RunningJob,
    RunningVersion,
    Stream,
    TriedVersion,
    Version,
    VersionLine,
)

__all__ = [
    "Client",
    "Conflict",
    "Flaw",
    "Invalid",
    "Label",
    "Match",
    "MatchLine",
    "MatchTriage",
    "NotAllowed",
    "NotFound",
    "NotRunning",
    "Note",
    "Outdated",
    "Processor",
    "ProcessorLine",
    "PublishedVersion",
    "Rollout",
    "RolloutClient",
    "RolloutInJob",
    "RuleTriage",
    "Running",
    "RunningJob",
    "RunningVersion",
    "ServiceError",
    "Stream",
    "Triage",
    "TriageResult",
    "TriedVersion",
    "Unreachable",
    "Version",
    "VersionLine",
]
