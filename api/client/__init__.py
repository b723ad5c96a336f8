"""The Python client of the rule service; needs httpx2 and the core, nothing of the service.

Pattern ──sign──► document ──Client──► rule service ◄── jobs
                              └─ wait_until_running ─┘

from percept import Client

with Client("https://rules.example.com", token) as client:
    published = client.publish("logins", "failed-logins", pattern=pattern, key_by=["user"])
    client.wait_until_running("logins", "failed-logins", published.version)
"""

from api.client.backtests import BacktestClient, NotEnded
from api.client.change_sets import RuleChange
from api.client.client import Client, Stream
from api.client.errors import (
    Conflict,
    Invalid,
    NotAllowed,
    NotFound,
    NotRunning,
    Outdated,
    ServiceError,
    Unreachable,
)
from api.client.explanations import NotExplained
from api.client.lists import ListClient
from api.client.matches import Label
from api.client.rollouts import RolloutClient
from contract.service.backtests import BacktestSummary as BacktestLine
from contract.service.backtests import BacktestView as Backtest
from contract.service.change_sets import ChangeSetView as ChangedRules
from contract.service.change_sets import RuleChanged
from contract.service.diagnosis import (
    Diagnosis,
    DiagnosisLine,
    Funnel,
    FunnelInJob,
    FunnelStep,
    FunnelVersion,
    PartialMatchesInJob,
)
from contract.service.diagnosis import (
    OpenPartialMatchView as PartialMatch,
)
from contract.service.diagnosis import (
    PartialMatchesOfKey as PartialMatches,
)
from contract.service.explanations import ExplanationLine
from contract.service.explanations import ExplanationView as Explanation
from contract.service.jobs import (
    HeldVersionView as RunningVersion,
)
from contract.service.jobs import (
    RunningVersionsInJob as RunningJob,
)
from contract.service.jobs import (
    RunningView as Running,
)
from contract.service.lists import (
    ListChangeView as ChangedList,
)
from contract.service.lists import (
    ListSummary as ValueListLine,
)
from contract.service.lists import (
    ListVersionView as ListVersionLine,
)
from contract.service.lists import (
    ListView as ValueList,
)
from contract.service.lists import (
    NamingRule,
)
from contract.service.matches import (
    MatchSummary as MatchLine,
)
from contract.service.matches import (
    MatchView as Match,
)
from contract.service.matches import (
    StandsFor,
)
from contract.service.matches import (
    TriageSummary as Triage,
)
from contract.service.problems import Flaw
from contract.service.processors import (
    ProcessorSummary as ProcessorLine,
)
from contract.service.processors import (
    ProcessorView as Processor,
)
from contract.service.processors import (
    PublishedVersion,
    TriedVersion,
)
from contract.service.processors import (
    VersionSummary as VersionLine,
)
from contract.service.processors import (
    VersionView as Version,
)
from contract.service.proposals import (
    ApprovalView as Approval,
)
from contract.service.proposals import (
    CommentView as ProposalComment,
)
from contract.service.proposals import (
    ProposalSummary as ProposalLine,
)
from contract.service.proposals import (
    ProposalView as Proposal,
)
from contract.service.proposals import (
    ProposedValues,
)
from contract.service.rollouts import RolloutInJob
from contract.service.rollouts import RolloutView as Rollout
from contract.service.triage import (
    NoteView as Note,
)
from contract.service.triage import (
    RuleTriage,
    TriageResult,
)
from contract.service.triage import (
    TriageView as MatchTriage,
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
