"""The source text of signed code: what it holds, that it is signed and bounded, how it is shown."""

import base64
import functools
import hashlib
import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from api.code.readable import readable
from cep.signing.code import CodeRefused, CodeUse, SignedCode, sign, verify, verify_and_load
from cep.signing.keys import SigningKey, SigningKeys
from cep.signing.source import MAXIMUM_SOURCE_CHARACTERS, source_of
from contract.service.tokens import Role
from percept import PatternProcessFunction, flat_select, select
from tests.api.documents import processor_document
from tests.api.running import Service

KEY = SigningKey("k1", b"k" * 32)
KEYS = SigningKeys((KEY,))


def is_large(event: Any, _context: Any = None) -> Any:
    return event["amount"] > 100


IS_LARGE = """\
def is_large(event: Any, _context: Any = None) -> Any:
    return event["amount"] > 100
"""


class Counts(PatternProcessFunction):
    def process_match(self, match: Any, context: Any) -> Any:
        return [len(match), context]


@dataclass(frozen=True)
class Holder:
    """A dataclass of somebody: its own text, not that of what it holds."""

    function: Callable[..., Any]


def test_code_has_the_text_that_somebody_wrote_and_nothing_that_stands_beside_it() -> None:
    wrapped: Any = is_large
    assert source_of(is_large) == IS_LARGE
    assert source_of(functools.partial(is_large, _context=None)) == IS_LARGE
    assert source_of(select(wrapped)) == IS_LARGE
    on_timeout = flat_select(wrapped, timeout_tag="late", on_timeout=wrapped)
    assert source_of(on_timeout) == IS_LARGE
    assert (source_of(Counts()) or "").startswith("class Counts(PatternProcessFunction):\n")
    assert (source_of(Holder(is_large)) or "").startswith("@dataclass(frozen=True)\nclass Holder:")
    beside, function = "hunter2", lambda event, _: event["amount"] > 1  # fmt: skip
    assert beside == "hunter2"
    assert source_of(function) == 'lambda event, _: event["amount"] > 1'
    two = (lambda event: event > 1, lambda event: event > 2)  # which one is not known
    assert [source_of(each) for each in two] == [None, None]


def test_code_without_a_text_is_signed_all_the_same() -> None:
    made: dict[str, Any] = {}
    exec("def made(event, context): return True", made)  # noqa: S102  # as a notebook does
    for function in (len, made["made"]):
        code = sign(function, KEY, CodeUse.CONDITION)
        assert code.source is None
        assert "source" not in code.to_document()
        verify(code, KEYS, CodeUse.CONDITION)


def test_a_long_text_is_cut_after_a_line(tmp_path: Path) -> None:
    file = tmp_path / "long.py"
    lines = "\n".join(f"    a = {number}" for number in range(5_000))
    file.write_text(f"def long():\n{lines}\n", encoding="utf-8")
    code = sign(runpy.run_path(str(file))["long"], KEY, CodeUse.FUNCTION)
    assert code.source is not None
    assert len(code.source) <= MAXIMUM_SOURCE_CHARACTERS
    assert code.source.splitlines()[-1] == "# … the rest is not shown"
    assert code.source.splitlines()[-2].startswith("    a = ")
    too_long = code.to_document() | {"source": "a" * (MAXIMUM_SOURCE_CHARACTERS + 1)}
    with pytest.raises(ValidationError, match="source"):
        SignedCode.model_validate(too_long)


@pytest.mark.parametrize("source", ["return True", "", None])
def test_no_other_text_can_be_put_beside_signed_code(source: str | None) -> None:
    code = sign(is_large, KEY, CodeUse.CONDITION)
    assert SignedCode.model_validate(code.to_document()) == code
    assert verify_and_load(code, KEYS, CodeUse.CONDITION)({"amount": 101}, None)
    with pytest.raises(CodeRefused, match="does not have the signature"):
        verify(code.model_copy(update={"source": source}), KEYS, CodeUse.CONDITION)


def test_a_text_is_never_run(tmp_path: Path) -> None:
    file = tmp_path / "hostile.py"
    canary = tmp_path / "ran"
    line = f"open({str(canary)!r}, 'w')"
    file.write_text(f"def f(event, context):\n    {line}\n", encoding="utf-8")
    code = sign(runpy.run_path(str(file))["f"], KEY, CodeUse.CONDITION)
    assert line in (code.source or "")
    readable({"function": code.to_document()})
    verify_and_load(SignedCode.model_validate(code.to_document()), KEYS, CodeUse.CONDITION)
    assert not canary.exists()


def text_of(service: Service, document: dict[str, Any], code: str = "readable") -> str:
    body = {"document": document, "format": "yaml", "code": code}
    return str(service.post("/v1/drafts/text", Role.ADMIN, body)["text"])


def test_code_is_shown_by_source_and_digest_also_where_it_is_too_long_for_a_draft(
    with_stream: Service,
) -> None:
    code = sign(is_large, KEY, CodeUse.CONDITION).to_document()
    steps = [{"name": "a", "where": {"all_of": ["amount > 1", {"python": code}]}}]
    document = processor_document(pattern={"steps": steps}, function=code)
    text = text_of(with_stream, document)
    payload = base64.b64decode(code["payload"])
    digest = hashlib.sha256(payload).hexdigest()[:16]
    assert text.count(f"code: code, {len(payload):,} bytes, digest {digest}\n") == 2
    assert text.count("source: |\n") == 2
    assert code["payload"] not in text
    assert code["signature"] not in text
    assert text_of(with_stream, document, "whole").count(code["signature"]) == 2
    large = sign(is_large, KEY, CodeUse.CONDITION).model_copy(update={"payload": b"p" * 200_000})
    text = text_of(with_stream, processor_document(function=large.to_document()))
    assert "code, 200,000 bytes, digest " in text


def test_what_a_reader_would_not_see_is_told_by_number() -> None:
    hidden = {"payload": "", "signature": "", "source": "a \u202e\u2066\u200b b\tc\n\x1b"}
    shown = readable({"function": hidden})["function"]["source"]
    assert shown == "a ⟨U+202E⟩⟨U+2066⟩⟨U+200B⟩ b\tc\n⟨U+001B⟩"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["python", "function", "payload", "signature", "source", "a"]), inner
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["pattern", "function", "id"]), JSON))
def test_any_draft_can_be_read_and_only_code_is_rewritten(document: dict[str, Any]) -> None:
    shown = readable(document)
    assert shown.keys() == document.keys()
    if "signature" not in str(document):
        assert shown == document
