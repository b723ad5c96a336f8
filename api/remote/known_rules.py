"""Rules by the names that people type: a name that is not known gets the nearest one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Final, NoReturn

from api.client import Client, NotFound, Outdated, Processor, ProcessorLine
from api.connected import end
from cep.pattern.problems import did_you_mean

_MOST_COMPARED: Final = 5_000
_MOST_LISTED: Final = 20


def changed_meanwhile(name: str) -> str:
    """Return that something is not as it was read any more, and nothing was changed therefore."""
    return f"{name} was changed by somebody else meanwhile; theirs stays. Look at it and try again"


@contextmanager
def as_it_was_read(name: str) -> Iterator[None]:
    """Make a change of a rule or list; if it was changed since it was read, that is told.

    Raises:
        Exit: it was changed, and the command ends.
    """
    try:
        yield
    except Outdated:
        end(changed_meanwhile(name))


def rules_named(client: Client, names: Sequence[str]) -> list[Processor]:
    """Return rules, each once; one that is not there ends the command before anything is changed.

    Raises:
        Exit: a rule is not known.
        ServiceError: the service does not answer, or refuses.
    """
    found = []
    for name in dict.fromkeys(names):
        try:
            found.append(client.get(name))
        except NotFound:
            end_unknown(client, name)
    return found


def deleted_rule(client: Client, name: str) -> ProcessorLine | None:
    """Return a rule that was deleted, `None` if there is none of that name.

    Raises:
        ServiceError: the service does not answer, or refuses.
    """
    lines = client.processors(state="deleted", text=name)
    return next((line for line in lines if line.id == name), None)


def end_unknown(client: Client, name: str) -> NoReturn:
    """End the command: a rule is not there. The message says what may have been meant.

    Raises:
        Exit: always.
        ServiceError: the service does not answer, or refuses.
    """
    if deleted_rule(client, name) is not None:
        end(f"rule {name} was deleted; `percept rollback {name} --to VERSION` brings it back")
    ids = [line.id for line in islice(client.processors(), _MOST_COMPARED)]
    hint = did_you_mean(name, ids)
    if not hint.startswith("Did") and len(ids) > _MOST_LISTED:
        hint = "`percept list` shows all of them."
    end(f"there is no rule {name}. {hint}".rstrip())
