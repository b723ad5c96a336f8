"""Random stories of several people: nothing comes to run that not enough others have approved.

Who approved what is kept here, from what was sent and answered; the service is asked only what it
gives to jobs. A definition is told by its window, of which each is used by one document alone.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from httpx2 import Response
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

from contract.service.tokens import Role
from tests.api.documents import PATTERN, STREAM, processor_document
from tests.api.people import PROPOSALS, Person, ask_for, token_of
from tests.api.running import Service
from tests.properties import slow_property

ALL_KEYS = 10_000
WINDOWS = ("1 minute", "2 minutes", "3 minutes")
TOKENS = ("ana", "ana", "bob", "bob", "eve", "eve")
_streams = itertools.count()

Step = tuple[Any, ...]


def one_step(random: Random) -> Step:
    """Return what anybody may try at any time."""
    token, window = random.randrange(len(TOKENS)), random.choice(WINDOWS)
    percent, version, which = random.choice((0, 5, 20)), random.randint(1, 4), random.randrange(4)
    steps: list[Step] = [
        ("propose", token, window),
        ("propose canary", token, window, percent),
        ("propose rollback", token, version),
        ("propose other", token, random.choice(("resume", "promote", "delete"))),
        ("edit", token, which, window),
        ("approve", token, which),
        ("publish", token, which),
        ("close", token, which, random.choice(("renew", "renew", "withdraw"))),
        ("put", token, window),
        ("create", token, window, random.choice(("", "?paused=true"))),
        ("try", token, window, percent),
        ("share", token, percent),
        ("rollback", token, version),
        ("post", token, "/pause"),
        ("post", token, "/resume"),
        ("post", token, "/resume"),
        ("post", token, "/rollout/promote"),
        ("delete", token, random.choice(("", "/rollout"))),
        ("ask for", random.choice((0, 1, 1, 2))),
    ]
    return random.choice(steps)


def one_proposal(random: Random) -> Iterator[Step]:
    """Yield what people do with a proposal from its beginning to its end, enough of them or not."""
    author, *others = random.sample(range(len(TOKENS)), len(TOKENS))
    begun: list[Step] = [
        ("propose", author, random.choice(WINDOWS)),
        ("propose canary", author, random.choice(WINDOWS), random.choice((5, 20))),
        ("propose rollback", author, random.randint(1, 3)),
        ("propose other", author, random.choice(("resume", "promote"))),
    ]
    yield random.choice(begun)
    yield from (("approve", other, 0) for other in others[: random.randint(1, 4)])
    if random.random() < 0.6:
        meanwhile: list[Step] = [("edit", author, 0, random.choice(WINDOWS)), one_step(random)]
        yield random.choice(meanwhile)
    yield from (("approve", other, 0) for other in others[: random.choice((0, 0, 1, 3))])
    yield "publish", random.randrange(len(TOKENS)), 0


def story_of(random: Random) -> Iterator[Step]:
    """Yield the steps of a story."""
    for _ in range(10):
        if random.random() < 0.5:
            yield one_step(random)
        else:
            yield from one_proposal(random)


@dataclass
class Written:
    """A proposal as this side knows it: what reviewers saw, who wrote it, who approved that."""

    id: int
    author: str
    windows: set[str]
    approvers: set[str] = field(default_factory=set)


@dataclass
class Story:
    """One stream with one rule, and what several people do with it."""

    service: Service
    tokens: list[Person]
    stream: str
    required: int
    written: list[Written] = field(default_factory=list)

    @property
    def rule(self) -> str:
        return f"rule-{self.stream}"

    def document(self, window: str) -> dict[str, Any]:
        pattern = PATTERN | {"within": window}
        return processor_document(id=self.rule, stream=self.stream, pattern=pattern)

    def running(self) -> dict[str, int]:
        """Return for how many parts of the keys each window counts; what is paused does not."""
        snapshot = self.service.snapshot(self.stream)
        found: dict[str, int] = {}
        for processor in snapshot["processors"]:
            for version in () if processor["paused"] else processor["versions"]:
                found[window_of(version)] = ALL_KEYS
        for each in snapshot.get("rollouts", []):
            window = window_of(each["version"])
            if not each.get("paused"):
                found[window] = max(found.get(window, 0), each["share"])
        return {window: parts for window, parts in found.items() if parts}

    def take(self, step: tuple[Any, ...]) -> Written | None:
        """Take a step and return the proposal that has been published by it, if one has."""
        name, *rest = step
        if name == "ask for":
            self.required = rest[0]
            ask_for(self.service, self.required, self.stream)
            return None
        token, *arguments = rest
        if name in {"edit", "approve", "publish", "close"}:
            which, *more = arguments
            is_there = which < len(self.written)
            return self._act(token, self.written[-1 - which], name, *more) if is_there else None
        if name.startswith("propose"):
            self._propose(token, self._change(name, *arguments))
        else:
            self._send(token, *self._request(name, *arguments))
        return None

    def _change(self, name: str, about: Any, percent: int = 0) -> dict[str, Any]:
        """Return what is proposed."""
        of_rule = {"processor_id": self.rule}
        match name:
            case "propose":
                return {"document": self.document(about)}
            case "propose canary":
                document = self.document(about)
                return {"kind": "canary", "document": document, "share_percent": percent}
            case "propose rollback":
                return of_rule | {"kind": "rollback", "version": about}
            case _:
                return of_rule | {"kind": about}

    def _request(self, name: str, about: Any, more: Any = "") -> tuple[str, str, Any]:
        """Return the request of a change that is made without a proposal."""
        own = f"/v1/processors/{self.rule}"
        match name:
            case "put":
                return "PUT", own, self.document(about)
            case "create":
                return "POST", f"/v1/processors{more}", self.document(about)
            case "try":
                return "POST", f"{own}/rollout?share_percent={more}", self.document(about)
            case "share":
                return "PATCH", f"{own}/rollout", {"share_percent": about}
            case "rollback":
                return "POST", f"{own}/rollback", {"version": about}
            case _:
                return name.upper(), f"{own}{about}", None

    def _send(self, token: int, method: str, path: str, body: Any = None) -> Response:
        return self.tokens[token].send(method, path, json=body)

    def _propose(self, token: int, change: dict[str, Any]) -> None:
        answer = self._send(token, "POST", PROPOSALS, change)
        if answer.status_code == 201:
            body = answer.json()
            self.written.append(Written(body["id"], TOKENS[token], self._shown(body)))

    def _act(self, token: int, proposal: Written, verb: str, more: str = "") -> Written | None:
        """Do something with a proposal; returns it if that has published it."""
        path = f"{PROPOSALS}/{proposal.id}"
        if verb == "edit":
            answer = self._send(token, "PUT", path, {"document": self.document(more)})
        else:
            answer = self._send(token, "POST", f"{path}/{more or verb}")
        if answer.status_code != 200:
            return None
        if verb == "approve":
            proposal.approvers.add(TOKENS[token])
        elif verb in {"edit", "close"}:
            shown = self._shown(answer.json())
            if verb == "close" or shown != proposal.windows:
                proposal.approvers = set()
            proposal.windows = shown
        return proposal if verb == "publish" else None

    def _shown(self, body: Any) -> set[str]:
        """Return what reviewers can see would run: the content, or else the versions."""
        if body["kind"] in {"publish", "canary"}:
            return {body["document"]["pattern"]["within"]}
        path = f"/v1/processors/{self.rule}/versions"
        versions = [self.service.get(f"{path}/{each}") for each in body["versions"]]
        return {each["document"]["pattern"]["within"] for each in versions}


def window_of(version: Any) -> str:
    window: str = version["definition"]["pattern"]["within"]
    return window


@pytest.fixture(scope="module")
def tokens(module_service: Service) -> list[Person]:
    roles = [Role.PUBLISHER, Role.ADMIN]
    return [
        token_of(module_service, f"{person} {place}", roles[place % 2], person=person)
        for place, person in enumerate(TOKENS)
    ]


@pytest.mark.long
@settings(slow_property(), phases=[Phase.explicit, Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_nothing_comes_to_run_without_its_approvals(
    module_service: Service, tokens: list[Person], seed: int
) -> None:
    random = Random(seed)  # noqa: S311 - a story, no secret
    story = Story(module_service, tokens, f"stream{next(_streams)}", 0)
    module_service.client.post("/v1/streams", json=STREAM | {"name": story.stream})
    if random.random() < 0.8:
        story.take(("create", 0, WINDOWS[0], ""))
    story.take(("ask for", random.randint(1, 2)))
    before = story.running()
    for step in story_of(random):
        proposal = story.take(step)
        now = story.running()
        more = {window for window, parts in now.items() if parts > before.get(window, 0)}
        if more and story.required:
            assert proposal is not None, f"{step} let {more} run"
            assert more <= proposal.windows
        if proposal is not None and story.required:
            others = proposal.approvers - {proposal.author}
            assert len(others) >= story.required, f"{others} approved what was published"
            event(f"{story.required} had to approve, and a proposal was published")
        before = now
