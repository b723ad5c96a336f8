"""What a job sends to a collector of OpenTelemetry, if the environment asks for it.

batch done ──► BatchSpans ──► spans · JobFigures ──► metrics
"""
