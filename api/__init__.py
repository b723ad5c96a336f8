"""The rule service: rules are written, versioned, scheduled and published here, and jobs read them.

    request ─► app ─► routing ─► access ─► <slice>/endpoints ─► service ─► repository ─► store
                                                          │
                       streams.epochs (change log, epochs) ─► notifications ─► snapshots ─► jobs

One folder is one feature, a slice; slices import each other in one direction only. What they share
is in `web` (HTTP), `store` (the database), `access` (tokens and roles) and beside this file;
`app.create_app` and `commands` are the composition roots, the only places that read the environment
or the clock.

To add a slice: its requests and answers in `contract.service`, and a folder with `tables.py`
(classes of `store.database.Record`, imported by `api.tables`, and a migration), `repository.py`
(all SQL), `service.py`, which makes answers of rows by `store.views.view_of`, `filters.py` where it
has lists, and `endpoints.py` with a router of `routing.slice_router`, listed in `app.ROUTERS`. A
route takes its least role (`access.authentication.Viewer` …) and `transactions.Read` or `Write`.
Whoever writes calls `audit.log.record`, or `streams.epochs.record_epoch` if what runs on a stream
changes, after `streams.service.locked_stream`. Refusals are `web.problems.Refusal`, documented with
`web.problems.documented`. docs/api.md lists every route.
"""
