"""`percept test`: rules in files, tested before anything is published, without a service.

files ──► documents ──► testing ──► Outcome per document ──► reporting: terminal
                           │                            └──► junit: JUnit XML
      check_documents ─────┤ what `percept apply` checks
      worker of a trial ───┘ examples, within the service's limits of time and memory
"""
