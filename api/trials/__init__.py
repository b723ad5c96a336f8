"""Rules are run on given events, in processes of their own that can be ended at any moment.

    endpoint ─► Trials ─► FairTurns: a turn ─► TrialProcesses ══pipe══► worker ─► a task of `tasks`

What a rule costs on events cannot be told before it runs. Here it runs within limits of time and
memory, few at a time; beyond them its process is ended, and the service goes on.
"""
