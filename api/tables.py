"""All tables of the service in one place, for the check of migrations."""

from api.access.tables import Token
from api.audit.tables import Change
from api.backtests.tables import Backtest, BacktestWorker
from api.idempotency.tables import IdempotentRequest
from api.jobs.asked_key_tables import AskedKeyRow, KeyAnswerRow
from api.jobs.tables import HeldVersion, Job, JobBucket, JobInstance, ProcessorBucket
from api.list_store.tables import ListContent, ListVersion, StoredList
from api.matches.tables import Match, MatchCount, MatchLog, MatchNote, MatchTriage, WaitingGroup
from api.processors.tables import (
    ListUse,
    Processor,
    ProcessorTag,
    ProcessorVersion,
    Publication,
)
from api.proposals.tables import Proposal, ProposalApproval, ProposalComment
from api.rollouts.tables import ComparedFind
from api.snooze_store.tables import Snooze
from api.store.database import Record
from api.streams.tables import Stream, StreamVersion
from api.webhooks.tables import Webhook, WebhookDelivery, WebhookTold

__all__ = [
    "AskedKeyRow",
    "Backtest",
    "BacktestWorker",
    "Change",
    "ComparedFind",
    "HeldVersion",
    "IdempotentRequest",
    "Job",
    "JobBucket",
    "JobInstance",
    "KeyAnswerRow",
    "ListContent",
    "ListUse",
    "ListVersion",
    "Match",
    "MatchCount",
    "MatchLog",
    "MatchNote",
    "MatchTriage",
    "Processor",
    "ProcessorBucket",
    "ProcessorTag",
    "ProcessorVersion",
    "Proposal",
    "ProposalApproval",
    "ProposalComment",
    "Publication",
    "Record",
    "Snooze",
    "StoredList",
    "Stream",
    "StreamVersion",
    "Token",
    "WaitingGroup",
    "Webhook",
    "WebhookDelivery",
    "WebhookTold",
]
