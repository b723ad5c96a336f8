"""`percept work`: backtests that were asked for at the rule service, run where the events are.

service ── task ─► Worker ─► a process for each task: archive ─► run_backtest ─► report ─► service
"""
