"""Rules from a folder under version control: `percept apply` and `percept export`.

    files ──► documents ──► checking ──► planning ──► execution ──► rule service
                                            ▲
                   comparison, refusals ────┘         exporting: rule service ──► files

`comparison` says what differs from what is published, `refusals` what the service would refuse. It
is a client of the service like any other and imports only its documents.
"""
