"""The Python client of the rule service; needs httpx2 and the core, nothing of the service.

Pattern ──sign──► document ──Client──► rule service ◄── jobs
                              └─ wait_until_running ─┘

from percept import Client

with Client("https://rules.example.com", token) as client:
    published = client.publish("logins", "failed-logins", pattern=pattern, key_by=["user"])
    client.wait_until_running("logins", "failed-logins", published.version)
"""

from api.client.backtests import Backtest, BacktestClient, BacktestLine, NotEnded
from api.client.change_sets import ChangedRules, RuleChange, RuleChanged
from api.client.client import Client
from api.client.diagnosis import (
    Diagnosis,
    DiagnosisLine,
    Funnel,
    FunnelInJob,
    FunnelStep,
    FunnelVersion,
)
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
from api.client.explanations import Explanation, ExplanationLine, NotExplained
from api.client.lists import (
    ChangedList,
    ListClient,
    ListVersionLine,
    NamingRule,
    ValueList,
    ValueListLine,
)
from api.client.match_views import (
    Label,
    Match,
    MatchLine,
    MatchTriage,
    Note,
    RuleTriage,
    StandsFor,
    Triage,
    TriageResult,
)
from api.client.partial_matches import PartialMatch, PartialMatches, PartialMatchesInJob
from api.client.proposals import (
    Approval,
    Proposal,
    ProposalComment,
    ProposalLine,
    ProposedValues,
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
    "Approval",
    "Backtest",
    "BacktestClient",
    "BacktestLine",
    "ChangedList",
    "ChangedRules",
    "Client",
    "Conflict",
    "Diagnosis",
    "DiagnosisLine",
    "Explanation",
    "ExplanationLine",
    "Flaw",
    "Funnel",
    "FunnelInJob",
    "FunnelStep",
    "FunnelVersion",
    "Invalid",
    "Label",
    "ListClient",
    "ListVersionLine",
    "Match",
    "MatchLine",
    "MatchTriage",
    "NamingRule",
    "NotAllowed",
    "NotEnded",
    "NotExplained",
    "NotFound",
    "NotRunning",
    "Note",
    "Outdated",
    "PartialMatch",
    "PartialMatches",
    "PartialMatchesInJob",
    "Processor",
    "ProcessorLine",
    "Proposal",
    "ProposalComment",
    "ProposalLine",
    "ProposedValues",
    "PublishedVersion",
    "Rollout",
    "RolloutClient",
    "RolloutInJob",
    "RuleChange",
    "RuleChanged",
    "RuleTriage",
    "Running",
    "RunningJob",
    "RunningVersion",
    "ServiceError",
    "StandsFor",
    "Stream",
    "Triage",
    "TriageResult",
    "TriedVersion",
    "Unreachable",
    "ValueList",
    "ValueListLine",
    "Version",
    "VersionLine",
]
