"""The client of the rule service, its errors and what it returns; needs the extra `client`."""

from percept._packages import own_packages

with own_packages("cep", "contract", "api", extra="client"):
    from api.client import (
        Client,
        Conflict,
        Flaw,
        Invalid,
        NotAllowed,
        NotFound,
        NotRunning,
        Outdated,
        Processor,
        ProcessorLine,
        PublishedVersion,
        Running,
        RunningJob,
        RunningVersion,
        ServiceError,
        Stream,
        Unreachable,
        Version,
        VersionLine,
    )

__all__ = [
    "Client",
    "Conflict",
    "Flaw",
    "Invalid",
    "NotAllowed",
    "NotFound",
    "NotRunning",
    "Outdated",
    "Processor",
    "ProcessorLine",
    "PublishedVersion",
    "Running",
    "RunningJob",
    "RunningVersion",
    "ServiceError",
    "Stream",
    "Unreachable",
    "Version",
    "VersionLine",
]
