"""All tables of the service in one place, for the check of migrations."""

from api.access.tables import Token
from api.audit.tables import Change
from api.jobs.tables import HeldVersion, Job, JobBucket, JobInstance, ProcessorBucket
from api.matches.tables import Match, MatchLog, MatchNote, MatchTriage
from api.processors.tables import Processor, ProcessorTag, ProcessorVersion, Publication
from api.rollouts.tables import ComparedFind
from api.store.database import Record
from api.streams.tables import Stream, StreamVersion

__all__ = [
    "Change",
    "ComparedFind",
    "HeldVersion",
    "Job",
    "JobBucket",
    "JobInstance",
    "Match",
    "MatchLog",
    "MatchNote",
    "MatchTriage",
    "Processor",
    "ProcessorBucket",
    "ProcessorTag",
    "ProcessorVersion",
    "Publication",
    "Record",
    "Stream",
    "StreamVersion",
    "Token",
]
