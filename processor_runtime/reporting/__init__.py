"""What a running job reports to the rule service, from threads that never block the job.

JobStatus (once per batch) ──► JobReporter ──► registration, heartbeats, stop ──┐
ReportedMatch (as found)   ──► MatchPoster ──► recent matches ──────────────────┴─► rule service

A service that is slow, down or replaced does not affect the job.
"""

from processor_runtime.reporting.job_reporter import JobReporter, ReportingJob
from processor_runtime.reporting.match_poster import MatchPoster
from processor_runtime.reporting.rule_service import RuleService, ServiceRefused

__all__ = ["JobReporter", "MatchPoster", "ReportingJob", "RuleService", "ServiceRefused"]
