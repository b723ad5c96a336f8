"""The messages between the rule service, its clients and its jobs, and what both tell others.

    snapshot        service → job: every processor published on one stream, at one epoch
    reports         job → service: registration, heartbeats, matches (`report_parts` splits them)
    canonical       the one JSON text of a value, which both sides hash and compare
    problem_text    problems of a document as text, the same on both sides
    service_access  how a job sends its token, and what a refusal says
    service         requests to the service and its answers, for it and its Python client
    telemetry       what both send to a collector of OpenTelemetry, if they are asked to

Both `api` and `discoverers` depend on this package, and not on each other.
"""
