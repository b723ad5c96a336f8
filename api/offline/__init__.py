"""Rules in files, tested and tried without a service: `percept test` and `percept why`.

files ──► documents ──► testing ──► Outcome per document ──► reporting: terminal
│                            └──► junit: JUnit XML
check_documents ─────┤ what `percept apply` checks
worker of a trial ───┤ examples, within the service's limits of time and memory
rule, events ──► trying ───┘ near misses ──► near_miss_report: terminal, JSON
"""
