"""The parameters of a rule are given other values: a new version, its pattern left alone.

{limit: 120} + document of the rule ─► the document with that value ─► checked, published
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Body, Depends, Path
from starlette.concurrency import run_in_threadpool

from api.access.authentication import Author, Principal
from api.processors import service, views
from api.processors.change_endpoints import ANSWERS, Change
from api.processors.checks import CheckedDocument
from api.processors.publishing import check_and_test, may_publish
from api.routing import slice_router
from api.runtime import CurrentRuntime, Runtime
from api.web.preconditions import IfMatch, require_match
from api.web.problems import Refusal, documented, escaped, invalid
from cep.definition.document import ProcessorId
from cep.definition.parameters import ParametersRefused, with_values
from cep.expression.parameters import Written
from contract.service.problems import Flaw
from contract.service.processors import ProcessorView

router = slice_router("/v1/processors/{processor_id}/parameters", "processors", for_confined=True)

_VALUE: Final = re.compile(r"/pattern/parameters/(\w+)/value")

ParameterValues = Annotated[
    dict[str, Written],
    Body(
        min_length=1,
        max_length=100,
        description="New values by name; parameters that are not named keep theirs.",
        examples=[{"limit": 120}],
    ),
]


@dataclass(frozen=True, slots=True)
class ChangedValues:
    """A checked document with other values, and the tag of the state it was made from."""

    checked: CheckedDocument
    made_from: str


async def document_with_values(
    processor_id: Annotated[ProcessorId, Path()],
    values: ParameterValues,
    principal: Author,
    runtime: CurrentRuntime,
    if_match: IfMatch = None,
) -> ChangedValues:
    """Return the document of a processor with other values, checked like one that is sent.

    Raises:
        Refusal: no such processor (404), changed since it was read (412, 428), or a value that a
            parameter cannot take (422).
        Overloaded: it has examples, and there was no turn to run them.
    """
    return await changed_values(processor_id, values, principal, runtime, if_match, check_and_test)


async def changed_values(  # noqa: PLR0913, PLR0917 - the request, and how it is checked
    processor_id: str,
    values: dict[str, Any],
    principal: Principal,
    runtime: Runtime,
    if_match: str | None,
    check: Callable[[Mapping[str, Any], Principal, Runtime], Awaitable[CheckedDocument]],
) -> ChangedValues:
    """Return the document of a processor with other values, checked as `check` does.

    Raises:
        Refusal: see `document_with_values`.
        Overloaded: likewise.
    """
    document, tag = await run_in_threadpool(_with_values, processor_id, values, runtime, if_match)
    try:
        return ChangedValues(await check(document, principal, runtime), tag)
    except Refusal as refusal:
        refusal.flaws = tuple(map(_in_body, refusal.flaws))
        raise


def _in_body(flaw: Flaw) -> Flaw:
    """Return what is wrong with a value with its place in the body that was sent."""
    place = _VALUE.fullmatch(flaw.pointer)
    return flaw if place is None else flaw.model_copy(update={"pointer": f"/{place[1]}"})


def _with_values(
    processor_id: str, values: dict[str, Any], runtime: Runtime, if_match: str | None
) -> tuple[dict[str, Any], str]:
    with runtime.database.reading() as session:
        processor = views.existing_processor(session, processor_id)
        require_match(if_match, service.etag(processor))
        tag = service.etag(processor)
        document = views.processor_view(session, processor, runtime.now_ms()).document
    try:
        return document | {"pattern": with_values(document["pattern"], values)}, tag
    except ParametersRefused as refused:
        flaws = [
            Flaw(
                pointer=f"/{escaped(each.path)}",
                detail=f"The rule has no parameter {each.path}.",
                remedy=each.remedy,
            )
            for each in refused.problems
        ]
        raise invalid("request", flaws) from None


@router.patch("", responses=ANSWERS | documented(409))
def set_parameters(
    principal: Author,
    changed: Annotated[ChangedValues, Depends(document_with_values)],
    change: Change,
) -> ProcessorView:
    """Publish a version with other values of parameters; equal values make none.

    All else stays as it is in version `version`, a schedule included. Authors: while it is paused.
    """
    processor = change.processor()
    # Even with If-Match: * nothing is overwritten that came between reading and writing.
    require_match(f'"{changed.made_from}"', service.etag(processor))
    published = service.replace(change.write, processor, changed.checked)
    may_publish(principal, paused=published.processor.state == "paused")
    return change.shown(published.processor, published.withdrawn)
