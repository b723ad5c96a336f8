"""What the rule service and its jobs say to each other, and nothing else.

    snapshot        service → job: every processor published on one stream, at one epoch
    reports         job → service: registration, heartbeats, matches (`report_parts` splits them)
    canonical       one JSON text per value, which both sides hash and compare
    problem_text    what is wrong with a document, in the words both sides use
    service_access  how a job shows its token, and what a refusal says

Both `api` and `discoverers` stand on this package, and neither on the other.
"""
