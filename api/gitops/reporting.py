"""Prints plans and outcomes: in colour on a terminal, otherwise as plain lines."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from api.gitops.changes import Action, Plan, ProcessorChange
from api.gitops.execution import ChangeOutcome
from api.gitops.proposing import ProposalOutcome
from cep.definition.rule_files import FileProblem

_STYLES: Final = {
    Action.REGISTER: "green",
    Action.CREATE: "green",
    Action.CREATE_PAUSED: "green",
    Action.DELETE: "red",
}
_DIFF_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}


class Reporter:
    """Prints for people; `out` is for the plan, `err` for problems."""

    def __init__(self) -> None:
        self.out = Console(highlight=False, soft_wrap=True)
        self.err = Console(stderr=True, highlight=False, soft_wrap=True)

    def problems(self, problems: Iterable[FileProblem]) -> None:
        """Print all problems of files."""
        found = sorted(problems, key=lambda each: (str(each.file), each.line or 0))
        for problem in found:
            self.err.print(Text(str(problem)))
        count = f"{len(found)} problem{'s' if len(found) != 1 else ''}"
        self.err.print(Text(f"{count}; nothing was changed.", style="bold red"))

    def plan(self, plan: Plan) -> None:
        """Print every change with its diff, and the number of changes by kind."""
        counts: Counter[str] = Counter()
        for change in plan.changes:
            told = _actions_text(change.actions)
            counts[told] += 1
            style = _STYLES.get(change.actions[0], "yellow")
            self.out.print(Text(f"{told}: {change.what} {change.name}", style=f"bold {style}"))
            for line in change.diff:
                self.out.print(Text(f"    {line}", style=_DIFF_STYLES.get(line[:1], "")))
            for warning in change.warnings if isinstance(change, ProcessorChange) else ():
                told_warning = f"    warning: {warning}".replace("\n", "\n    ")
                self.out.print(Text(told_warning, style="yellow"))
        counted = [f"{count} × {told}" for told, count in counts.items()]  # noqa: RUF001 - "times"
        told = ", ".join([*counted, f"{plan.unchanged} unchanged"])
        self.out.print(Text(f"Plan: {told}", style="bold"))

    def outcome(self, outcome: ChangeOutcome) -> None:
        """Write how one change went."""
        name, actions = outcome.change.name, _actions_text(outcome.change.actions)
        if outcome.is_made:
            self.out.print(Text(f"done: {actions} {name}"))
            return
        if outcome.not_made:
            message = f"not made: {actions} {name}: {outcome.not_made}"
            self.err.print(Text(message, style="red"))
            return
        reason = "was changed by somebody else meanwhile; " if outcome.is_outdated else ""
        message = f"failed: {actions} {name}: {reason}{outcome.error}"
        self.err.print(Text(message, style="red"))
        if outcome.is_outdated:
            self.err.print(Text("    their changes were not overwritten; run apply again"))

    def note(self, told: str) -> None:
        """Write what is to be told of several changes."""
        self.out.print(Text(told))

    def failure(self, outcomes: Sequence[ChangeOutcome]) -> None:
        """Write what was changed and what was not, once something has failed."""
        failed = sum(1 for outcome in outcomes if outcome.error)
        not_made = sum(1 for outcome in outcomes if outcome.not_made)
        message = f"{failed} of {len(outcomes)} changes failed"
        message += f", {not_made} more were not made." if not_made else "."
        self.err.print(Text(message, style="bold red"))
        parts = [("changed", each.change, each.made) for each in outcomes]
        parts += [("perhaps changed", each.change, each.perhaps_made) for each in outcomes]
        parts += [("not changed", each.change, each.left) for each in outcomes]
        for state, change, actions in parts:
            if actions:
                self.err.print(Text(f"    {state}: {_actions_text(actions)} {change.name}"))

    def proposed(self, outcome: ProposalOutcome) -> None:
        """Write what became of one change that was to be proposed."""
        name, proposal = outcome.change.name, outcome.proposal
        if outcome.error is not None:
            self.err.print(Text(f"failed: propose {name}: {outcome.error}", style="red"))
        elif proposal is None:
            self.out.print(Text(f"left out: {name}: {outcome.told}", style="yellow"))
        else:
            count = proposal.approvals_in_words
            message = f"{outcome.told}: {name}: proposal {proposal.id}, {count}"
            if outcome.left:
                message += f"; {outcome.left} more to propose once it is published"
            self.out.print(Text(message))

    def approvals_needed(self, required: Mapping[str, int]) -> None:
        """Write which streams ask for approvals, so that the plan cannot be carried out."""
        for stream, count in required.items():
            people = f"{count} {'person' if count == 1 else 'people'}"
            message = f"percept: changes on stream {stream} must be approved by {people}"
            self.err.print(Text(message, style="red"))
        self.err.print(Text("Nothing was changed; --propose makes proposals of them."))


def _actions_text(actions: Iterable[Action]) -> str:
    """Return what is done in one change; a step that is taken again is named once."""
    return " + ".join(dict.fromkeys(actions))
