"""Signed code: nothing is unpickled, published or run that was not signed with a known key."""

import base64
import hashlib
import hmac
import importlib
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from api.settings import Settings
from cep.definition.document import ProcessorDocument
from cep.nfa.errors import CodeNotLoaded
from cep.signing import code as signed_code_module
from cep.signing.code import (
    MAXIMUM_PAYLOAD_BYTES,
    PYTHON_VERSION,
    CodePlace,
    CodeRefused,
    CodeUse,
    SignedCode,
    sign,
    verify,
    verify_and_load,
)
from cep.signing.keys import SigningKey, SigningKeys
from contract.service.tokens import Role
from percept import Pattern, PatternError, PatternProcessFunction, find_matches, select
from tests.api.documents import STREAM, processor_document
from tests.api.running import Service, running_service
from tests.properties import slow_property

NEW = SigningKey("new", b"n" * 32)
OLD = SigningKey("old", b"o" * 32)
KEYS = SigningKeys((NEW, OLD))
STRANGER = SigningKey("new", b"s" * 32)


class Canary:
    """Unpickling it writes a file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (self.file,)


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Canary]:
    """A canary that no test may have unpickled in the end."""
    made = Canary(tmp_path / "unpickled")
    yield made
    assert not made.file.exists()


def refused(
    code: SignedCode,
    reason: str,
    place: CodePlace | None = None,
    keys: SigningKeys | None = KEYS,
) -> None:
    """Verify and load code as a function, which must be refused for this reason."""
    with pytest.raises(CodeRefused, match=reason):
        verify_and_load(code, keys, CodeUse.FUNCTION, place)


# --- signing and verifying


def test_a_function_comes_back_with_what_it_closes_over_and_every_known_key_verifies() -> None:
    limit = 10
    code = sign(lambda amount: amount > limit, NEW, CodeUse.CONDITION)
    loaded = verify_and_load(code, KEYS, CodeUse.CONDITION)
    assert [loaded(9), loaded(11)] == [False, True]
    for key in (NEW, OLD):
        code = sign(len, key, CodeUse.FUNCTION)
        verify(code, KEYS, CodeUse.FUNCTION)
        with pytest.raises(CodeRefused, match="does not have the signature"):
            verify(code.model_copy(update={"payload": b"changed"}), KEYS, CodeUse.FUNCTION)


@pytest.mark.parametrize("place", [None, CodePlace(stream="logins", processor="failed-logins")])
def test_a_document_of_signed_code_is_read_back_equal(place: CodePlace | None) -> None:
    code = sign(len, NEW, CodeUse.FUNCTION, place=place)
    assert SignedCode.model_validate(code.to_document()) == code
    assert SignedCode.model_validate_json(code.model_dump_json()) == code
    assert verify_and_load(code, KEYS, CodeUse.FUNCTION, place) is len


def test_unpickling_the_canary_does_write_its_file(canary: Canary) -> None:
    # Else the tests below, which say that it did not, would prove nothing.
    verify_and_load(sign(canary, NEW, CodeUse.FUNCTION), KEYS, CodeUse.FUNCTION)
    canary.file.unlink()


UNSIGNED = "does not have the signature of key"
REFUSED: dict[str, tuple[SigningKey, dict[str, str], SigningKeys | None, str]] = {
    "another name": (NEW, {"name": "another"}, KEYS, UNSIGNED),
    "another python version": (NEW, {"python_version": "3.99"}, KEYS, UNSIGNED),
    "another key": (NEW, {"key_id": "old"}, KEYS, UNSIGNED),
    "another signature": (NEW, {"signature": "0" * 64}, KEYS, UNSIGNED),
    "no keys": (NEW, {}, None, "no signing keys are set here"),
    "unknown key": (SigningKey("other", b"x" * 32), {}, KEYS, "the key 'other', unknown here"),
    "another key of the same name": (STRANGER, {}, KEYS, UNSIGNED),
    "a key taken out": (OLD, {}, SigningKeys((NEW,)), "the key 'old', unknown here"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_code_of_no_trusted_key_or_changed_is_refused_before_it_is_unpickled(
    case: str, canary: Canary
) -> None:
    key, changes, keys, reason = REFUSED[case]
    code = sign(canary, key, CodeUse.FUNCTION).model_copy(update=changes)
    refused(code, reason, keys=keys)


def test_code_for_another_use_or_python_version_is_refused_before_it_is_unpickled(
    canary: Canary, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused(sign(canary, NEW, CodeUse.CONDITION), "for another use")
    with monkeypatch.context() as other:
        other.setattr(signed_code_module, "PYTHON_VERSION", "3.99")
        code = sign(canary, NEW, CodeUse.FUNCTION)
    refused(code, r"pickled by Python 3\.99 and this is Python 3\.")


@given(st.data())
def test_no_single_changed_byte_of_a_payload_is_accepted(data: st.DataObject) -> None:
    code = sign(len, NEW, CodeUse.FUNCTION)
    payload = bytearray(code.payload)
    payload[data.draw(st.integers(0, len(payload) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(CodeRefused):
        verify(code.model_copy(update={"payload": bytes(payload)}), KEYS, CodeUse.FUNCTION)


def test_what_is_too_large_or_cannot_be_pickled_is_not_signed() -> None:
    with pytest.raises(CodeRefused, match="bytes, the limit is 262,144"):
        sign(bytes(MAXIMUM_PAYLOAD_BYTES), NEW, CodeUse.FUNCTION)
    large = base64.b64encode(bytes(MAXIMUM_PAYLOAD_BYTES + 1)).decode()
    document = sign(len, NEW, CodeUse.FUNCTION).to_document() | {"payload": large}
    with pytest.raises(ValidationError, match="at most 262144 bytes"):
        SignedCode.model_validate(document)
    with pytest.raises(CodeRefused, match="genexpr> cannot be pickled: cannot pickle 'generator'"):
        sign((number for number in range(3)), NEW, CodeUse.FUNCTION)


@pytest.fixture
def rules_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module on this machine that is gone once the test says so."""
    (tmp_path / "my_rules.py").write_text("LIMIT = 10\n\ndef is_big(e, c):\n    return e > LIMIT\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("my_rules")
    sys.modules.pop("my_rules", None)


def test_modules_travel_if_they_are_named(
    rules_module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_name = sign(rules_module.is_big, NEW, CodeUse.CONDITION)
    whole = sign(rules_module.is_big, NEW, CodeUse.CONDITION, modules=[rules_module])
    monkeypatch.delitem(sys.modules, "my_rules")
    monkeypatch.setattr(sys, "path", sys.path[1:])
    assert verify_and_load(whole, KEYS, CodeUse.CONDITION)(11, None)
    with pytest.raises(CodeRefused, match="No module named 'my_rules'; install it here, or"):
        verify_and_load(by_name, KEYS, CodeUse.CONDITION)


# --- one rule only

HERE = CodePlace(stream="logins", processor="failed-logins")
ELSEWHERE = {
    "another rule": CodePlace(stream="logins", processor="other"),
    "another stream": CodePlace(stream="payments", processor="failed-logins"),
    # One text after the other would be the same as that of HERE.
    "parts moved": CodePlace(stream="loginsfailed", processor="-logins"),
    "nowhere": None,
}
BOUND = SigningKey("new", NEW.secret, needs_place=True)


@pytest.mark.parametrize("where", ELSEWHERE)
def test_code_for_one_rule_is_refused_elsewhere_also_if_that_is_rewritten(
    where: str, canary: Canary
) -> None:
    code, place = sign(canary, NEW, CodeUse.FUNCTION, place=HERE), ELSEWHERE[where]
    refused(code, "is signed for rule 'failed-logins' of stream 'logins'", place)
    moved = code.model_copy(update={"place": place, "format": 2 if place else 1})
    refused(moved, "does not have the signature", place)


@pytest.mark.parametrize(("number", "place"), [(1, HERE), (2, None)])
def test_a_format_that_does_not_have_what_it_says_is_refused(
    number: int, place: CodePlace | None
) -> None:
    document = sign(len, NEW, CodeUse.FUNCTION, place=place).to_document() | {"format": number}
    with pytest.raises(ValidationError, match="format 2 has a place"):
        SignedCode.model_validate(document)


def test_a_key_may_refuse_code_for_any_rule(canary: Canary) -> None:
    bound_only = SigningKeys((BOUND,))
    told = "signed for any rule, which the key 'new' does not"
    refused(sign(canary, NEW, CodeUse.FUNCTION), told, HERE, bound_only)
    with pytest.raises(CodeRefused, match="signs code for one rule only"):
        sign(len, BOUND, CodeUse.FUNCTION)
    bound = sign(len, BOUND, CodeUse.FUNCTION, place=HERE)
    assert verify_and_load(bound, bound_only, CodeUse.FUNCTION, HERE) is len


def test_code_as_it_was_signed_before_there_were_places_still_loads() -> None:
    payload = pickle.dumps(len, protocol=4)
    texts = ("percept signed code", "1", "function", "new", PYTHON_VERSION, "len")
    parts = [*(text.encode() for text in texts), payload]
    message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    document = {
        "format": 1,
        "name": "len",
        "python_version": PYTHON_VERSION,
        "key_id": "new",
        "payload": base64.b64encode(payload).decode(),
        "signature": hmac.new(NEW.secret, message, hashlib.sha256).hexdigest(),
    }
    code = SignedCode.model_validate(document)
    assert verify_and_load(code, KEYS, CodeUse.FUNCTION, HERE) is len
    assert code.to_document() == document


# --- keys


def test_keys_are_read_from_the_text_they_are_written_as() -> None:
    keys = (SigningKey.new("2026-11"), SigningKey.new("2026-05"))
    text = ", ".join(key.to_text() for key in keys)
    assert SigningKeys.from_text(text) == SigningKeys(keys)
    assert SigningKeys.from_text(text.replace("=", "")).newest == keys[0]
    assert all(key.needs_place for key in keys)
    free = SigningKeys.from_text(text.replace(":bound", ""))
    assert not any(key.needs_place for key in free.keys)


BAD_KEYS = {
    "nothing": ("", "signing key 1 is not of the form id:secret"),
    "no id": (":c2VjcmV0", "signing key 1 is not of the form id:secret"),
    "second without id": (f"{NEW.to_text()},c2VjcmV0", "signing key 2 is not of the form"),
    "no base64": ("k:se%ret", "secret of signing key 1 is not base64"),
    "neither bound nor not": (f"{NEW.to_text()}:bond", "the form id:secret or id:secret:bou"),
    "short": ("k:c2VjcmV0", "key 1 has 6 bytes; at least 32 are needed"),
    "one id twice": (f"{NEW.to_text()},{STRANGER.to_text()}", "two signing keys have the same id"),
}


@pytest.mark.parametrize("case", BAD_KEYS)
def test_keys_that_cannot_be_read_are_refused_without_showing_a_secret(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, reason = BAD_KEYS[case]
    with pytest.raises(ValueError, match=reason) as refusal:
        SigningKeys.from_text(text)
    monkeypatch.setenv("PERCEPT_SIGNING_KEYS", text)
    with pytest.raises(ValidationError, match=reason) as invalid:
        Settings()
    for shown in (str(refusal.value), str(invalid.value)):
        assert not any(secret in shown for secret in ("c2VjcmV0", "se%ret", "bm5u"))


def test_neither_a_key_nor_a_document_shows_its_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERCEPT_SIGNING_KEYS", NEW.to_text())
    shown = repr(Settings())
    assert "id='new'" in shown
    assert "bm5u" not in shown
    assert "nnn" not in shown
    code = sign(len, NEW, CodeUse.FUNCTION)
    shown = repr(ProcessorDocument.model_validate(with_function(code)))
    assert "payload" not in shown
    assert code.signature not in shown


# --- patterns

CHOSEN: st.SearchStrategy[str | Callable[[Any, Any], bool]] = st.sampled_from(
    ["x > 1", "y = 'a'", lambda _e, _c: True, lambda e, _c: e["x"] > 2]
)


@st.composite
def patterns_with_code(draw: st.DrawFn) -> Pattern:
    pattern = Pattern.begin("a").where(lambda e, _c: e["x"] > 0)
    for both, one in draw(st.lists(st.tuples(st.booleans(), CHOSEN), max_size=4)):
        pattern = pattern.where(one) if both else pattern.or_where(one)
    group = Pattern.begin("g").where(draw(CHOSEN)).one_or_more().until(draw(CHOSEN))
    return pattern.followed_by(group).followed_by("z").where(draw(CHOSEN)).within("1 hour")


@slow_property()
@given(patterns_with_code())
def test_signed_patterns_survive_every_document(pattern: Pattern) -> None:
    signed = pattern.sign_code(KEYS)
    assert Pattern.from_document(signed.to_document()) == signed
    assert Pattern.from_yaml(signed.to_yaml()) == signed
    assert Pattern.from_json(signed.to_json()) == signed
    assert str(signed.load_code(KEYS)) == str(pattern)


def test_a_loaded_pattern_finds_what_the_signed_one_was_written_to_find() -> None:
    def rises(event: dict[str, int], context: Any) -> bool:
        return all(event["x"] > before["x"] for before in context.events("a"))

    pattern = Pattern.begin("a").where("x > 1").where(rises).times(2).consecutive()
    events = [{"ts": ts, "x": x} for ts, x in enumerate([1, 3, 2, 4, 5, 0])]
    loaded = Pattern.from_document(pattern.sign_code(KEYS).to_document()).load_code(KEYS)
    found, written = (
        [match.steps for match in find_matches(each, events, time_field="ts").matches]
        for each in (loaded, pattern)
    )
    assert found == written
    assert len(found) == 2


def test_code_that_is_not_signed_or_loaded_does_not_run_and_what_is_refused_is_told() -> None:
    pattern = Pattern.begin("a").where("x = 1").where(lambda _e, _c: True)
    with pytest.raises(PatternError, match="or sign it"):
        pattern.to_document()
    with pytest.raises(CodeNotLoaded, match=r"`pattern\.load_code\(keys\)` verifies"):
        find_matches(pattern.sign_code(KEYS), [{"ts": 1, "x": 1}], time_field="ts")
    pattern = Pattern.begin("a").where("x = 1").where(lambda _e, _c: True).one_or_more()
    pattern = pattern.until(lambda _e, _c: False).sign_code(SigningKeys((STRANGER,)))
    with pytest.raises(PatternError) as refusal:
        pattern.load_code(KEYS)
    assert [each.path for each in refusal.value.problems] == ["steps[0].where", "steps[0].until"]


@pytest.mark.parametrize(
    ("signed", "told"),
    [("text", "is no callable"), (len, "cannot be called with two arguments")],
)
def test_signed_code_that_cannot_be_a_condition_is_refused(signed: Any, told: str) -> None:
    document = {"python": sign(signed, NEW, CodeUse.CONDITION).to_document()}
    pattern = Pattern.from_document({"steps": [{"name": "a", "where": document}]})
    with pytest.raises(PatternError, match=told):
        pattern.load_code(KEYS)


# --- the service


@pytest.fixture
def signing(service: Service) -> Service:
    """A service with the signing keys and the stream `logins`."""
    service.begin_with_stream(signing_keys=KEYS)
    return service


def with_condition(code: SignedCode | dict[str, Any]) -> dict[str, Any]:
    steps = [{"name": "a", "where": {"all_of": ["amount > 1", {"python": document_of(code)}]}}]
    return processor_document(pattern={"steps": steps})


def document_of(code: SignedCode | dict[str, Any]) -> dict[str, Any]:
    return code.to_document() if isinstance(code, SignedCode) else code


def with_function(code: SignedCode | dict[str, Any]) -> dict[str, Any]:
    document = code.to_document() if isinstance(code, SignedCode) else code
    return processor_document(function=document)


PLACES: dict[CodeUse, tuple[Callable[[Any], dict[str, Any]], str]] = {
    CodeUse.CONDITION: (with_condition, "/pattern/steps/0/where/all_of/1/python"),
    CodeUse.FUNCTION: (with_function, "/function"),
}


def is_empty(service: Service) -> bool:
    """Return whether no processor was stored, and no epoch made but the first."""
    return not service.get("/v1/processors")["items"] and service.epoch() == 1


def test_published_code_reaches_a_job_as_it_was_signed(signing: Service) -> None:
    condition = sign(lambda e, _c: e["amount"] > 5, NEW, CodeUse.CONDITION)
    function = sign(select(lambda match: len(match["a"])), OLD, CodeUse.FUNCTION)
    document = with_condition(condition) | {"function": function.to_document()}
    signing.post("/v1/processors", Role.PUBLISHER, document, expect=201)
    definition = signing.snapshot()["processors"][0]["versions"][0]["definition"]
    pattern = Pattern.from_document(definition["pattern"]).load_code(KEYS)
    events = [{"ts": ts, "amount": amount} for ts, amount in enumerate([2, 6])]
    assert [match.at for match in find_matches(pattern, events, time_field="ts").matches] == [1]
    read = SignedCode.model_validate(definition["function"])
    assert isinstance(verify_and_load(read, KEYS, CodeUse.FUNCTION), PatternProcessFunction)


@pytest.mark.parametrize("use", CodeUse)
@pytest.mark.parametrize("case", ["wrong key", "unknown key", "tampered payload", "other use"])
def test_the_service_refuses_what_is_not_signed_and_unpickles_nothing(
    use: CodeUse, case: str, signing: Service, canary: Canary
) -> None:
    write, pointer = PLACES[use]
    other_use = next(other for other in CodeUse if other is not use)
    tampered = {"payload": pickle.dumps(canary)}
    code = {
        "wrong key": sign(canary, STRANGER, use),
        "unknown key": sign(canary, SigningKey("other", b"x" * 32), use),
        "tampered payload": sign(len, NEW, use).model_copy(update=tampered),
        "other use": sign(canary, NEW, other_use),
    }[case]
    for path in ("/v1/processors", "/v1/validate"):
        errors = signing.post(path, Role.ADMIN, write(code), expect=422)["errors"]
        assert [error["pointer"] for error in errors] == [pointer]
    assert is_empty(signing)


@pytest.mark.parametrize("use", CodeUse)
def test_code_of_a_known_key_is_stored_and_never_unpickled(
    use: CodeUse, signing: Service, canary: Canary
) -> None:
    write, _ = PLACES[use]
    document = write(sign(canary, NEW, use))
    path = f"/v1/processors/{document['id']}"
    signing.post("/v1/processors", Role.ADMIN, document, expect=201)
    assert signing.done("PUT", path, document)["version"] == 1
    assert signing.done("PUT", path, document | {"severity": "high"})["version"] == 2
    signing.done("POST", f"{path}/rollback", {"version": 1})
    signing.get(f"{path}/comparison?old=1&new=2")


@pytest.mark.parametrize("use", CodeUse)
def test_the_service_takes_code_for_one_rule_there_and_nowhere_else(
    use: CodeUse, signing: Service, canary: Canary
) -> None:
    write, pointer = PLACES[use]
    document = write(sign(canary, NEW, use, place=HERE))
    signing.done("POST", "/v1/streams", STREAM | {"name": "other-stream"})
    for moved in ({"id": "moved"}, {"stream": "other-stream"}):
        answer = signing.post("/v1/processors", Role.ADMIN, document | moved, expect=422)
        (error,) = answer["errors"]
        assert error["pointer"] == pointer
        assert "is signed for rule 'failed-logins' of stream 'logins', and" in error["detail"]
    assert is_empty(signing)
    signing.post("/v1/processors", Role.ADMIN, document, expect=201)
    path = f"/v1/processors/{document['id']}"
    signing.done("PUT", path, processor_document())
    signing.done("POST", f"{path}/rollback", {"version": 1})


TOO_FEW_KEYS: dict[str, tuple[SigningKeys | None, str]] = {
    "keys that need a rule": (SigningKeys((BOUND,)), "signed for any rule"),
    "no keys": (None, "no signing keys are set here"),
}


@pytest.mark.parametrize("use", CodeUse)
@pytest.mark.parametrize("case", TOO_FEW_KEYS)
def test_without_keys_for_it_the_service_refuses_code_and_takes_other_rules(
    case: str, use: CodeUse, service: Service
) -> None:
    write, pointer = PLACES[use]
    keys, told = TOO_FEW_KEYS[case]
    service.begin_with_stream(signing_keys=keys)
    answer = service.post("/v1/processors", Role.ADMIN, write(sign(len, NEW, use)), expect=422)
    (error,) = answer["errors"]
    assert (error["pointer"], told in error["detail"]) == (pointer, True)
    assert is_empty(service)
    service.publish()


@pytest.mark.parametrize("use", CodeUse)
def test_authors_may_not_send_code_not_even_to_be_checked(use: CodeUse, signing: Service) -> None:
    write, _ = PLACES[use]
    document = write(sign(len, NEW, use))
    for path in ("/v1/processors?paused=true", "/v1/processors", "/v1/validate"):
        answer = signing.post(path, Role.AUTHOR, document, expect=403)
        assert "Python code" in answer["detail"]
    assert is_empty(signing)
    signing.done("POST", "/v1/processors?paused=true", processor_document())
    path = f"/v1/processors/{document['id']}"
    assert signing.send("PUT", path, document, Role.AUTHOR).status_code == 403


def test_code_too_large_or_beside_examples_is_refused_with_its_place(
    signing: Service, canary: Canary
) -> None:
    large = base64.b64encode(bytes(MAXIMUM_PAYLOAD_BYTES + 1)).decode()
    code = sign(len, NEW, CodeUse.FUNCTION).to_document() | {"payload": large}
    beside = with_condition(sign(canary, NEW, CodeUse.CONDITION))
    beside["examples"] = [{"events": [{"ts": 1, "amount": 3}]}]
    too_large = [(write(code), f"{pointer}/payload") for write, pointer in PLACES.values()]
    for document, pointer in (*too_large, (beside, "/examples")):
        answer = signing.post("/v1/processors", Role.ADMIN, document, expect=422)
        assert [error["pointer"] for error in answer["errors"]] == [pointer]


def test_code_whose_key_was_taken_out_cannot_be_rolled_back_to(service: Service) -> None:
    service.begin_with_stream(signing_keys=KEYS)
    service.publish(**with_function(sign(len, OLD, CodeUse.FUNCTION)))
    assert service.publish()["version"] == 2
    path = "/v1/processors/failed-logins"
    with running_service(service.url, signing_keys=SigningKeys((NEW,))) as other:
        other.token_of = service.token_of
        answer = other.send("POST", f"{path}/rollback", {"version": 1})
        assert answer.status_code == 422
        assert "the key 'old', unknown here" in answer.json()["errors"][0]["detail"]
        assert other.get(path)["version"] == 2
