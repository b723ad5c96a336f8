"""Windows in conditions: values over the events before the one under test, computed ahead.

    tests with windows ──WindowColumns──► tests on columns, which every executor reads as fields
    events in order, rows kept of earlier ones ──window_values──► those columns

Meaning: ISO/IEC 9075-2, "window clause", over events in order of time.
"""
