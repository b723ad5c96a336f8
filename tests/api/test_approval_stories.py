"""Random stories of several people: nothing comes to run that not enough others have approved.

Who approved what is kept here, from what was sent and answered; the service is asked only what it
gives to jobs. A definition is told by its window, of which each is used by one document alone.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

from contract.service.tokens import Role
from tests.api.documents import PATTERN, STREAM, processor_document
from tests.api.people import PROPOSALS, Person, ask_for, token_of
from tests.api.running import ServiceUnderTest
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

    service: ServiceUnderTest
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
        path = f"/v1/streams/{self.stream}/snapshot"
        snapshot = self.service.client.get(path).json()
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
        kind, _, which = name.partition(" ")
        act: Callable[..., Written | None] = getattr(self, f"_{kind}")
        return act(token, *([which] if which else []), *arguments)

    def _propose(self, token: int, *about: Any) -> None:
        change: dict[str, Any]
        match about:
            case ("canary", window, percent):
                change = {"kind": "canary", "document": self.document(window)}
                change["share_percent"] = percent
            case ("rollback", version):
                change = {"kind": "rollback", "processor_id": self.rule, "version": version}
            case ("other", kind):
                change = {"kind": kind, "processor_id": self.rule}
            case _:
                (window,) = about
                change = {"document": self.document(window)}
        answer = self.tokens[token].send("POST", PROPOSALS, json=change)
        if answer.status_code == 201:
            body = answer.json()
            self.written.append(Written(body["id"], TOKENS[token], self._shown(body)))

    def _edit(self, token: int, which: int, window: str) -> None:
        if proposal := self._one(which):
            path = f"{PROPOSALS}/{proposal.id}"
            body = {"document": self.document(window)}
            answer = self.tokens[token].send("PUT", path, json=body)
            if answer.status_code == 200:
                self._seen_anew(proposal, answer.json())

    def _approve(self, token: int, which: int) -> None:
        if proposal := self._one(which):
            answer = self.tokens[token].act(proposal.id, "approve")
            if answer.status_code == 200:
                proposal.approvers.add(TOKENS[token])

    def _publish(self, token: int, which: int) -> Written | None:
        if proposal := self._one(which):
            answer = self.tokens[token].act(proposal.id, "publish")
            if answer.status_code == 200:
                return proposal
        return None

    def _close(self, token: int, which: int, verb: str) -> None:
        if proposal := self._one(which):
            answer = self.tokens[token].act(proposal.id, verb)
            if answer.status_code == 200:
                self._seen_anew(proposal, answer.json(), always=True)

    def _seen_anew(self, proposal: Written, body: Any, *, always: bool = False) -> None:
        if always or self._shown(body) != proposal.windows:
            proposal.approvers = set()
        proposal.windows = self._shown(body)

    def _shown(self, body: Any) -> set[str]:
        """Return what reviewers can see would run: the content, or else the versions."""
        if body["kind"] in {"publish", "canary"}:
            return {body["document"]["pattern"]["within"]}
        path = f"/v1/processors/{self.rule}/versions"
        versions = [self.service.client.get(f"{path}/{each}").json() for each in body["versions"]]
        return {each["document"]["pattern"]["within"] for each in versions}

    def _put(self, token: int, window: str) -> None:
        self._change(token, "PUT", "", self.document(window))

    def _create(self, token: int, window: str, query: str) -> None:
        document = self.document(window)
        self.tokens[token].send("POST", f"/v1/processors{query}", json=document)

    def _try(self, token: int, window: str, percent: int) -> None:
        self._change(token, "POST", f"/rollout?share_percent={percent}", self.document(window))

    def _share(self, token: int, percent: int) -> None:
        self._change(token, "PATCH", "/rollout", {"share_percent": percent})

    def _rollback(self, token: int, version: int) -> None:
        self._change(token, "POST", "/rollback", {"version": version})

    def _post(self, token: int, path: str) -> None:
        self._change(token, "POST", path)

    def _delete(self, token: int, path: str) -> None:
        self._change(token, "DELETE", path)

    def _change(self, token: int, method: str, path: str, body: Any = None) -> None:
        self.tokens[token].send(method, f"/v1/processors/{self.rule}{path}", json=body)

    def _one(self, which: int) -> Written | None:
        return self.written[-1 - which] if which < len(self.written) else None


def window_of(version: Any) -> str:
    window: str = version["definition"]["pattern"]["within"]
    return window


@pytest.fixture(scope="module")
def tokens(module_service: ServiceUnderTest) -> list[Person]:
    roles = [Role.PUBLISHER, Role.ADMIN]
    return [
        token_of(module_service, f"{person} {place}", roles[place % 2], person=person)
        for place, person in enumerate(TOKENS)
    ]


@pytest.mark.long
@settings(slow_property(), phases=[Phase.explicit, Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_nothing_comes_to_run_without_its_approvals(
    module_service: ServiceUnderTest, tokens: list[Person], seed: int
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
