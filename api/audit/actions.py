"""What the change log records: every action by its name, `<what>.<verb>`.

The dashboard has words for each: `js/activity/change.js`, and `js/rule/changes.js` for rules.
"""

from typing import Final, Literal

QUARANTINE: Final = "processor.quarantine"

ProposalAction = Literal[
    "proposal.create",
    "proposal.edit",
    "proposal.renew",
    "proposal.approve",
    "proposal.reject",
    "proposal.withdraw",
    "proposal.publish",
]

RuleAction = (
    Literal[
        "processor.create",
        "processor.publish",
        "processor.rollback",
        "processor.pause",
        "processor.resume",
        "processor.cancel",
        "processor.withdraw",
        "processor.label",
        "processor.delete",
        "processor.quarantine",
        "processor.acknowledge",
        "rollout.start",
        "rollout.share",
        "rollout.promote",
        "rollout.end",
        "snooze.begin",
        "snooze.end",
        "match.triage",
        "backtest.request",
        "backtest.cancel",
        "explanation.request",
        "explanation.cancel",
    ]
    | ProposalAction
)
"""An action on a rule, or on what is of one."""

Action = (
    Literal[
        "stream.create",
        "stream.describe",
        "stream.redefine",
        "stream.approvals",
        "list.create",
        "list.change",
        "list.rollback",
        "list.cancel",
        "list.describe",
        "list.delete",
        "job.register",
        "job.stop",
        "job.delete",
        "webhook.create",
        "webhook.change",
        "webhook.secret",
        "webhook.test",
        "webhook.delete",
        "token.create",
        "token.revoke",
    ]
    | RuleAction
)
"""An action on anything."""
