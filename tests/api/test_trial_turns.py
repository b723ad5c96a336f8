"""Tokens share the processes in which rules are tried fairly, whoever asks for many."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, ParamSpec

import pytest

from api.trials.fair_turns import MOST_WAITING, FairTurns
from api.worker_threads import Overloaded
from contract.service.tokens import Role
from tests.api.listening import listening_service
from tests.api.test_trial_limits import QUICK, SLOW, SLOW_EVENTS, trial_of
from tests.patience import FAR_LONGER_SECONDS, eventually

_PASSES_OF_LOOP = 10
P = ParamSpec("P")


class Tasks:
    """Tasks that have a turn each until they are ended; `begun` are their names, in order."""

    def __init__(self, turns: FairTurns) -> None:
        self._turns = turns
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.begun: list[str] = []

    async def ask(self, *names: str) -> None:
        """Ask for turns; the first letter of a name is its caller."""
        for name in names:
            self._ends[name] = asyncio.Event()
            self._tasks[name] = asyncio.create_task(self._run(name))
            await self.settled()

    async def end(self, *names: str) -> None:
        """Let tasks end that have a turn."""
        for name in names:
            self._ends[name].set()
            await self._tasks[name]
            await self.settled()

    def cancel(self, name: str) -> None:
        """Cancel a task, as one whose client has gone."""
        self._tasks[name].cancel()

    async def outcome(self, name: str) -> None:
        """Wait for a task and raise what it raised."""
        await self._tasks[name]

    async def settled(self) -> None:
        """Wait until nothing goes on by itself."""
        for _ in range(_PASSES_OF_LOOP):
            await asyncio.sleep(0)

    def cancel_all(self) -> None:
        """Cancel every task."""
        for task in self._tasks.values():
            task.cancel()

    async def _run(self, name: str) -> None:
        async with self._turns.turn(name[0]):
            self.begun.append(name)
            await self._ends[name].wait()


@asynccontextmanager
async def tasks_of(turns: int, wait_seconds: float = FAR_LONGER_SECONDS) -> AsyncIterator[Tasks]:
    """Yield tasks that share so many turns."""
    tasks = Tasks(FairTurns("trying a rule", turns, wait_seconds))
    try:
        yield tasks
    finally:
        tasks.cancel_all()
        await tasks.settled()


def in_a_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Let a test run in an event loop."""

    @wraps(test)
    def run(*arguments: P.args, **options: P.kwargs) -> None:
        asyncio.run(test(*arguments, **options))

    return run


@in_a_loop
async def test_one_caller_leaves_a_turn_for_the_others() -> None:
    async with tasks_of(2) as tasks:
        await tasks.ask("a1", "a2", "a3")
        assert tasks.begun == ["a1"]
        await tasks.ask("b1")
        assert tasks.begun == ["a1", "b1"]
        await tasks.end("b1")
        assert tasks.begun == ["a1", "b1"]
        await tasks.end("a1")
        assert tasks.begun == ["a1", "b1", "a2"]


@in_a_loop
async def test_a_single_turn_goes_from_caller_to_caller() -> None:
    async with tasks_of(1) as tasks:
        await tasks.ask("a1", "a2", "a3", "b1", "b2", "c1")
        for name in ("a1", "a2", "b1", "c1", "a3", "b2"):
            assert tasks.begun[-1] == name
            await tasks.end(name)


@in_a_loop
async def test_the_caller_with_fewest_turns_is_next() -> None:
    async with tasks_of(4) as tasks:
        await tasks.ask("a1", "a2", "a3", "b1", "a4", "c1")
        assert tasks.begun == ["a1", "a2", "a3", "b1"]
        await tasks.end("b1")
        assert tasks.begun[-1] == "c1"
        await tasks.end("c1")
        assert tasks.begun[-1] == "c1"
        await tasks.end("a2")
        assert tasks.begun[-1] == "a4"


@in_a_loop
async def test_more_than_a_few_that_wait_of_one_caller_are_put_off_at_once() -> None:
    async with tasks_of(1) as tasks:
        await tasks.ask(*(f"a{number}" for number in range(1 + MOST_WAITING)))
        await tasks.ask("a-more", "b1")
        with pytest.raises(Overloaded, match="of the same token wait for trying a rule"):
            await tasks.outcome("a-more")
        await tasks.end("a0", "a1")
        assert tasks.begun == ["a0", "a1", "b1"]


@in_a_loop
async def test_a_turn_that_does_not_come_in_time_is_not_waited_for_any_longer() -> None:
    async with tasks_of(1, wait_seconds=0.01) as tasks:
        await tasks.ask("a1", "b1")
        with pytest.raises(Overloaded, match="There was no turn for trying a rule"):
            await tasks.outcome("b1")
        await tasks.end("a1")
        await tasks.ask("c1")
        assert tasks.begun == ["a1", "c1"]


@pytest.mark.parametrize(("gone", "left"), [("b1", "b2"), ("b2", "b1")])
@in_a_loop
async def test_a_turn_is_not_given_to_a_task_that_has_gone(gone: str, left: str) -> None:
    async with tasks_of(1) as tasks:
        await tasks.ask("a1", "b1", "b2")
        tasks.cancel(gone)
        await tasks.end("a1")
        assert tasks.begun == ["a1", left]
        await tasks.end(left)
        await tasks.ask("c1")
        assert tasks.begun[-1] == "c1"


@in_a_loop
async def test_a_task_that_goes_when_its_turn_comes_gives_it_back() -> None:
    turns = FairTurns("trying a rule", 1, FAR_LONGER_SECONDS)
    begun: list[str] = []

    async def second() -> None:
        async with turns.turn("b"):
            begun.append("b")

    async with turns.turn("a"):
        task = asyncio.create_task(second())
        await asyncio.sleep(0)
    task.cancel()  # granted, but it does not know yet
    with pytest.raises(asyncio.CancelledError):
        await task
    async with turns.turn("c"):
        begun.append("c")
    assert begun == ["c"]


@pytest.mark.long
def test_an_author_who_tries_many_rules_does_not_keep_another_from_it(
    migrated_store: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = migrated_store("sqlite")
    with listening_service(url, trial_seconds=FAR_LONGER_SECONDS) as limited:
        trials = limited.service.app.state.runtime.trials
        monkeypatch.setattr(trials._turns, "_wait_seconds", FAR_LONGER_SECONDS)
        slow, quick = trial_of(SLOW, SLOW_EVENTS), trial_of(QUICK, [{"ts": 1, "action": "fail"}])
        other = limited.service.as_role(Role.AUTHOR)

        async def attack() -> None:
            async with limited.asynchronous_client() as client:
                many = [
                    asyncio.create_task(client.post("/v1/drafts/trial", json=slow))
                    for _ in range(4)
                ]
                await asyncio.to_thread(eventually, lambda: trials._processes._workers)
                answer = await client.post("/v1/drafts/trial", json=quick, headers=other)
                assert answer.status_code == 200
                assert not any(each.done() for each in many)
                trials.close()
                assert {(await each).status_code for each in many} == {503}

        asyncio.run(attack())
