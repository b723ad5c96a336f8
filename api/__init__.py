"""The rule service: rules are written, versioned, scheduled and published here, and jobs read them.

    request ─► app ─► security ─► <slice>/endpoints ─► service ─► repository ─► database
                                                          │
                       audit (change log, epochs) ─► notifications ─► snapshots ─► jobs

One folder is one feature. What slices share stands beside this file; `app.create_app` and
`commands` are the composition roots, the only places that read the environment or the clock.

To add a slice: a folder with `tables.py` (classes of `database.Record`, imported by `api.tables`,
and a migration), `repository.py` (all SQL), `service.py`, `schemas.py`, and `endpoints.py` with a
router of `routing.slice_router`, listed in `app.ROUTERS`. A route takes its least role
(`security.Viewer` …) and `transactions.Read` or `Write`. Whoever writes calls `audit.log.record`,
or `record_epoch` if what runs on a stream changes, after `streams.service.locked_stream`. Refusals
are `problems.Refusal`, documented with `problems.documented`. docs/api.md lists every route.
"""
