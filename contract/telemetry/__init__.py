"""What the service and jobs send to a collector of OpenTelemetry, if the environment asks for it.

    asked         variables of the environment ──► what is sent, or why it cannot be
    figures       numbers at one moment, as plain data
    metrics_data  figures in the form of the exporter
    collector     the way to the collector, which tells once when it does not work
    sending       spans and figures on their way, in threads of their own

All but `asked` and `figures` need the extra `otel`, and are imported when something is asked for.
"""
