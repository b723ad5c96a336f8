"""`service:` of a job file: the rule service that the job reports to.

Used for heartbeats, and for the recent matches that an output of `type: service` posts.
"""

from pathlib import Path
from typing import Self

from pydantic import Field, HttpUrl, model_validator

from contract.service_access import check_access
from processor_runtime.job_file.field_types import EnvironmentName, JobFilePart


class ServiceConnection(JobFilePart):
    """The address of the rule service and the token to use; the token needs the role `job`."""

    url: HttpUrl = Field(repr=False)
    """Where the rule service is, such as https://rules.example.org."""
    token_env: EnvironmentName | None = None
    """Environment variable that holds the token."""
    token_file: Path | None = None
    """Or a file that holds it; it is read for every request, so that the token may be changed."""
    ca_file: Path | None = None
    """Certificates to trust instead of the usual ones."""
    timeout_seconds: float = Field(default=10, gt=0, le=300)
    """How long an answer may take."""
    allow_plain_http: bool = False
    """Send the token unencrypted to another machine."""

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        check_access(self)
        return self
