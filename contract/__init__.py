"""The messages between the rule service and its jobs, and nothing else.

    snapshot        service → job: every processor published on one stream, at one epoch
    reports         job → service: registration, heartbeats, matches (`report_parts` splits them)
    canonical       the one JSON text of a value, which both sides hash and compare
    problem_text    problems of a document as text, the same on both sides
    service_access  how a job sends its token, and what a refusal says

Both `api` and `discoverers` depend on this package, and not on each other.
"""
