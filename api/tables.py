"""All tables of the service in one place: what migrations are compared against."""

from api.audit.tables import Change
from api.database import Record
from api.jobs.tables import HeldVersion, Job, JobBucket, JobInstance, ProcessorBucket
from api.matches.tables import Match, MatchLog
from api.processors.tables import Processor, ProcessorTag, ProcessorVersion, Publication
from api.streams.tables import Stream, StreamVersion
from api.tokens.tables import Token

__all__ = [
    "Change",
    "HeldVersion",
    "Job",
    "JobBucket",
    "JobInstance",
    "Match",
    "MatchLog",
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
