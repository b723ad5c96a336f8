"""What is open for one key of a rule: asked of its jobs, and joined with the pattern as written.

rule, key ──ask──► jobs ──KeyAnswer──► per job: partial matches, what they wait for
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from sqlalchemy.orm import Session

from api.diagnosis.written_steps import written_steps
from api.jobs import asked_keys
from api.jobs import repository as jobs
from api.jobs.views import job_summary
from api.processors import repository as processors
from api.processors.tables import Processor, ProcessorVersion
from api.settings import Settings
from api.transactions import Writing
from api.web.problems import Refusal
from cep.pattern.problems import type_remedy
from contract.asked_keys import KeyAnswer, KeyValues, OpenPartialMatch
from contract.service.diagnosis import (
    AwaitedStep,
    OpenPartialMatchView,
    PartialMatchesInJob,
    PartialMatchesOfKey,
    TakenStepView,
)

MAXIMUM_JOBS: Final = 20
_KEY: Final = TypeAdapter(KeyValues)

_Conditions = Mapping[str, str]


def partial_matches(
    writing: Writing, processor: Processor, key: str, settings: Settings
) -> PartialMatchesOfKey:
    """Ask about a key, and return what jobs have told of it so far.

    Raises:
        Refusal: the key cannot be read (422), or too many are asked about (409).
    """
    version = processors.version_of(writing.session, processor.id, processor.latest_version)
    values = key_of_text(key, key_columns(version))
    asked = asked_keys.ask(writing, processor, values)
    told = asked_keys.answers_about(writing.session, asked.id)
    running = [
        job for job in jobs.jobs_of(writing.session, processor.stream) if job.stopped_at_ms is None
    ]
    shown = running[:MAXIMUM_JOBS]
    answers = [told[job.id][1] for job in shown if job.id in told]
    conditions = _conditions(writing.session, processor, answers)
    return PartialMatchesOfKey(
        processor_id=processor.id,
        stream=processor.stream,
        key=values,
        at=writing.now_ms,
        asked_until=asked.until_ms,
        jobs=[
            _in_job(job_summary(job, writing.now_ms, settings), told.get(job.id), conditions)
            for job in shown
        ],
        jobs_left_out=len(running) - len(shown),
    )


def key_of_text(text: str, columns: Sequence[str]) -> list[Any]:
    """Return the values of a key as lists of matches have it, or as a JSON array.

    Args:
        text: values of several columns are joined by a comma and a space; an empty text is the key
            of a rule without columns. What begins with a bracket is an array.
        columns: `key_by` of the rule.

    Raises:
        Refusal: there are fewer or more values than columns, or it is no such array (422).
    """
    values = _values_in(text) if text.startswith("[") else _values_joined(text, columns)
    if len(values) != len(columns):
        detail = (
            f"The key of the rule is {', '.join(columns) or 'empty, as it has no key_by'}; "
            f"this is {len(values)} instead of {len(columns)} values. "
            "Write them in order, joined by a comma and a space, or as a JSON array such as "
            '["eve", 7] if one of them has a comma.'
        )
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
    return values


def _values_joined(text: str, columns: Sequence[str]) -> list[Any]:
    if not text:
        return []
    return [*text.split(", ")] if len(columns) > 1 else [text]


def _values_in(text: str) -> list[Any]:
    try:
        return _KEY.validate_json(text)
    except ValidationError as error:
        (first, *_) = error.errors()
        place = f" at value {first['loc'][0]}" if first["loc"] else ""
        detail = (
            "The key begins like a JSON array and is none of texts, numbers and truth values"
            f"{place}: {type_remedy(first)} Write the values of `key_by` in order, such as "
            '["eve", 7]; a text that begins with a bracket stands in an array, too.'
        )
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, detail) from None


def key_columns(version: ProcessorVersion | None) -> list[str]:
    """Return the `key_by` of a version."""
    definition = {} if version is None else json.loads(version.definition)
    return list(definition.get("key_by") or ())


def _conditions(
    session: Session, processor: Processor, answers: Iterable[KeyAnswer]
) -> dict[int, _Conditions]:
    """Return the conditions of steps as they are written, by version and step."""
    numbers = {partial.version for answer in answers for partial in answer.partial_matches}
    return {
        version.version: {
            step.name: step.condition
            for step in written_steps(json.loads(version.definition)["pattern"])
        }
        for version in processors.versions_of(session, processor.id, numbers)
    }


def _in_job(
    job: Any, told: tuple[int, KeyAnswer] | None, conditions: Mapping[int, _Conditions]
) -> PartialMatchesInJob:
    if told is None:
        return PartialMatchesInJob(job=job, answered_at=None)
    answered_at_ms, answer = told
    return PartialMatchesInJob(
        job=job,
        answered_at=answered_at_ms,
        batch_id=answer.batch_id,
        watermark=answer.watermark_ms,
        open=answer.open,
        held_back=answer.held_back,
        problem=answer.problem,
        partial_matches=[
            _view(partial, conditions.get(partial.version, {}))
            for partial in answer.partial_matches
        ],
    )


def _view(partial: OpenPartialMatch, conditions: _Conditions) -> OpenPartialMatchView:
    return OpenPartialMatchView(
        version=partial.version,
        steps=[
            TakenStepView(name=step.name, count=step.count, first=step.first_ms, last=step.last_ms)
            for step in partial.steps
        ],
        started=partial.started_ms,
        last=partial.last_ms,
        expires=partial.expires_ms,
        awaited=_steps(partial.awaited, conditions),
        forbidden=_steps(partial.forbidden, conditions),
    )


def _steps(names: Sequence[str], conditions: _Conditions) -> list[AwaitedStep]:
    return [AwaitedStep(name=name, condition=conditions.get(name, "")) for name in names]
