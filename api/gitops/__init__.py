"""Rules from a folder under version control: `percept apply` and `percept export`.

    files ──► documents ──► checking ──► planning ──► execution ──► rule service
                                            ▲
                              rule service ─┘          exporting: rule service ──► files

It is a client of the service like any other and imports nothing of it but documents.
"""
