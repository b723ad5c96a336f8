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
from cep import Pattern, PatternError, PatternProcessFunction, find_matches, select
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
from tests.api.documents import ANY_STATE, STREAM, processor_document
from tests.api.running import ServiceUnderTest, running_service
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
def canary(tmp_path: Path) -> Canary:
    return Canary(tmp_path / "unpickled")


# --- signing and verifying


def test_a_function_comes_back_with_what_it_closes_over() -> None:
    limit = 10
    code = sign(lambda amount: amount > limit, NEW, CodeUse.CONDITION)
    loaded = verify_and_load(code, KEYS, CodeUse.CONDITION)
    assert [loaded(9), loaded(11)] == [False, True]


def test_a_document_of_signed_code_is_read_back_equal() -> None:
    code = sign(len, NEW, CodeUse.FUNCTION)
    assert SignedCode.model_validate(code.to_document()) == code
    assert SignedCode.model_validate_json(code.model_dump_json()) == code


def test_unpickling_the_canary_does_write_its_file(canary: Canary) -> None:
    # Else the tests below, which say that it did not, would prove nothing.
    verify_and_load(sign(canary, NEW, CodeUse.FUNCTION), KEYS, CodeUse.FUNCTION)
    assert canary.file.exists()


CHANGES: dict[str, dict[str, Any]] = {
    "name": {"name": "another"},
    "python version": {"python_version": "3.99"},
    "key": {"key_id": "old"},
    "signature": {"signature": "0" * 64},
}


@pytest.mark.parametrize("what", CHANGES)
def test_changed_code_is_refused_before_it_is_unpickled(what: str, canary: Canary) -> None:
    code = sign(canary, NEW, CodeUse.FUNCTION).model_copy(update=CHANGES[what])
    with pytest.raises(CodeRefused, match="does not have the signature of key"):
        verify_and_load(code, KEYS, CodeUse.FUNCTION)
    assert not canary.file.exists()


@given(st.data())
def test_no_single_changed_byte_of_a_payload_is_accepted(data: st.DataObject) -> None:
    code = sign(len, NEW, CodeUse.FUNCTION)
    payload = bytearray(code.payload)
    payload[data.draw(st.integers(0, len(payload) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(CodeRefused):
        verify(code.model_copy(update={"payload": bytes(payload)}), KEYS, CodeUse.FUNCTION)


REFUSED: dict[str, tuple[SigningKey, SigningKeys | None, str]] = {
    "no keys": (NEW, None, "no signing keys are set here"),
    "unknown key": (SigningKey("other", b"x" * 32), KEYS, "the key 'other', unknown here"),
    "another key of the same name": (STRANGER, KEYS, "does not have the signature"),
    "a key taken out": (OLD, SigningKeys((NEW,)), "the key 'old', unknown here"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_code_of_no_trusted_key_is_refused_before_it_is_unpickled(
    case: str, canary: Canary
) -> None:
    key, keys, reason = REFUSED[case]
    with pytest.raises(CodeRefused, match=reason):
        verify_and_load(sign(canary, key, CodeUse.FUNCTION), keys, CodeUse.FUNCTION)
    assert not canary.file.exists()


def test_every_known_key_verifies_while_keys_are_changed() -> None:
    for key in (NEW, OLD):
        code = sign(len, key, CodeUse.FUNCTION)
        verify(code, KEYS, CodeUse.FUNCTION)
        with pytest.raises(CodeRefused, match="does not have the signature"):
            verify(code.model_copy(update={"payload": b"changed"}), KEYS, CodeUse.FUNCTION)


def test_a_condition_does_not_pass_for_a_function(canary: Canary) -> None:
    code = sign(canary, NEW, CodeUse.CONDITION)
    with pytest.raises(CodeRefused, match="for another use"):
        verify_and_load(code, KEYS, CodeUse.FUNCTION)
    assert not canary.file.exists()


def test_code_of_another_python_version_is_refused_before_it_is_unpickled(
    canary: Canary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signed_code_module, "PYTHON_VERSION", "3.99")
    code = sign(canary, NEW, CodeUse.FUNCTION)
    monkeypatch.undo()
    with pytest.raises(CodeRefused, match=r"pickled by Python 3\.99 and this is Python 3\."):
        verify_and_load(code, KEYS, CodeUse.FUNCTION)
    assert not canary.file.exists()


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
def rules_module(tmp_path: Path) -> Iterator[Any]:
    """A module on this machine that is gone once the test says so."""
    (tmp_path / "my_rules.py").write_text("LIMIT = 10\n\ndef is_big(e, c):\n    return e > LIMIT\n")
    sys.path.insert(0, str(tmp_path))
    try:
        yield importlib.import_module("my_rules")
    finally:
        sys.path.remove(str(tmp_path))
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
}
BOUND = SigningKey("new", NEW.secret, needs_place=True)


def test_code_for_one_rule_loads_there() -> None:
    code = sign(len, NEW, CodeUse.FUNCTION, place=HERE)
    assert verify_and_load(code, KEYS, CodeUse.FUNCTION, HERE) is len
    assert SignedCode.model_validate(code.to_document()) == code


@pytest.mark.parametrize("where", [*ELSEWHERE, None])
def test_code_for_one_rule_is_refused_elsewhere_and_not_unpickled(
    where: str | None, canary: Canary
) -> None:
    code = sign(canary, NEW, CodeUse.FUNCTION, place=HERE)
    with pytest.raises(CodeRefused, match="is signed for rule 'failed-logins' of stream 'logins'"):
        verify_and_load(code, KEYS, CodeUse.FUNCTION, ELSEWHERE[where] if where else None)
    assert not canary.file.exists()


@pytest.mark.parametrize("where", [*ELSEWHERE, None])
def test_the_rule_that_code_is_for_cannot_be_rewritten(where: str | None, canary: Canary) -> None:
    code = sign(canary, NEW, CodeUse.FUNCTION, place=HERE)
    place = ELSEWHERE[where] if where else None
    moved = code.model_copy(update={"place": place, "format": 2 if where else 1})
    with pytest.raises(CodeRefused, match="does not have the signature"):
        verify_and_load(moved, KEYS, CodeUse.FUNCTION, place)
    assert not canary.file.exists()


@pytest.mark.parametrize(("number", "place"), [(1, HERE), (2, None)])
def test_a_format_that_does_not_have_what_it_says_is_refused(
    number: int, place: CodePlace | None
) -> None:
    document = sign(len, NEW, CodeUse.FUNCTION, place=place).to_document() | {"format": number}
    with pytest.raises(ValidationError, match="format 2 has a place"):
        SignedCode.model_validate(document)


def test_a_key_may_refuse_code_for_any_rule(canary: Canary) -> None:
    code = sign(canary, NEW, CodeUse.FUNCTION)
    with pytest.raises(CodeRefused, match="signed for any rule, which the key 'new' does not"):
        verify_and_load(code, SigningKeys((BOUND,)), CodeUse.FUNCTION, HERE)
    assert not canary.file.exists()
    with pytest.raises(CodeRefused, match="signs code for one rule only"):
        sign(len, BOUND, CodeUse.FUNCTION)
    bound = sign(len, BOUND, CodeUse.FUNCTION, place=HERE)
    assert verify_and_load(bound, SigningKeys((BOUND,)), CodeUse.FUNCTION, HERE) is len


def test_code_as_it_was_signed_before_there_were_places_still_loads() -> None:
    document = {
        "format": 1,
        "name": "len",
        "python_version": PYTHON_VERSION,
        "key_id": "new",
        "payload": base64.b64encode(pickle.dumps(len, protocol=4)).decode(),
        "signature": signature_of_format_1("len", pickle.dumps(len, protocol=4)),
    }
    code = SignedCode.model_validate(document)
    assert verify_and_load(code, KEYS, CodeUse.FUNCTION, HERE) is len
    assert code.to_document() == document


def signature_of_format_1(name: str, payload: bytes) -> str:
    """Return what was signed before there was format 2."""
    texts = ("percept signed code", "1", "function", "new", PYTHON_VERSION, name)
    parts = [*(text.encode() for text in texts), payload]
    message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hmac.new(NEW.secret, message, hashlib.sha256).hexdigest()


# --- keys


def test_keys_are_read_from_the_text_they_are_written_as() -> None:
    keys = (SigningKey.new("2026-11"), SigningKey.new("2026-05"))
    text = ", ".join(key.to_text() for key in keys)
    assert SigningKeys.from_text(text) == SigningKeys(keys)
    assert SigningKeys.from_text(text.replace("=", "")).newest == keys[0]
    assert all(key.needs_place for key in keys)
    assert not any(
        key.needs_place for key in SigningKeys.from_text(text.replace(":bound", "")).keys
    )


BAD_KEYS = {
    "nothing": ("", "signing key 1 is not of the form id:secret"),
    "no id": (":c2VjcmV0", "signing key 1 is not of the form id:secret"),
    "second without id": (f"{NEW.to_text()},c2VjcmV0", "signing key 2 is not of the form"),
    "no base64": ("k:se%ret", "secret of signing key 1 is not base64"),
    "neither bound nor not": (
        f"{NEW.to_text()}:bond",
        "not of the form id:secret or id:secret:bou",
    ),
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


def test_a_key_never_shows_its_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERCEPT_SIGNING_KEYS", NEW.to_text())
    shown = repr(Settings())
    assert "id='new'" in shown
    assert "bm5u" not in shown
    assert "nnn" not in shown


# --- patterns

CONDITIONS: list[str | Callable[[Any, Any], bool]] = [
    "x > 1",
    "y = 'a'",
    lambda _e, _c: True,
    lambda e, _c: e["x"] > 2,
]
CHOSEN = st.sampled_from(CONDITIONS)


@st.composite
def patterns_with_code(draw: st.DrawFn) -> Pattern:
    pattern = Pattern.begin("a").where(lambda e, _c: e["x"] > 0)
    for condition in draw(st.lists(st.tuples(st.booleans(), CHOSEN), max_size=4)):
        both, one = condition
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

    found = [match.steps for match in find_matches(loaded, events, time_field="ts").matches]

    assert found == [
        match.steps for match in find_matches(pattern, events, time_field="ts").matches
    ]
    assert len(found) == 2


def test_a_pattern_whose_code_was_not_loaded_does_not_run() -> None:
    signed = Pattern.begin("a").where(lambda _e, _c: True).sign_code(KEYS)
    with pytest.raises(CodeNotLoaded, match=r"`pattern\.load_code\(keys\)` verifies"):
        find_matches(signed, [{"ts": 1}], time_field="ts")


def test_every_refused_condition_is_told_with_its_place() -> None:
    pattern = Pattern.begin("a").where("x = 1").where(lambda _e, _c: True).one_or_more()
    pattern = pattern.until(lambda _e, _c: False).sign_code(SigningKeys((STRANGER,)))
    with pytest.raises(PatternError) as refusal:
        pattern.load_code(KEYS)
    assert [each.path for each in refusal.value.problems] == ["steps[0].where", "steps[0].until"]


def test_unsigned_code_cannot_be_a_document() -> None:
    with pytest.raises(PatternError, match="or sign it"):
        Pattern.begin("a").where("x = 1").where(lambda _e, _c: True).to_document()


def test_signed_code_that_is_no_callable_is_no_condition() -> None:
    document = {"python": sign("text", NEW, CodeUse.CONDITION).to_document()}
    pattern = Pattern.from_document({"steps": [{"name": "a", "where": document}]})
    with pytest.raises(PatternError, match="is no callable"):
        pattern.load_code(KEYS)


def test_signed_code_of_one_argument_is_refused_before_any_event() -> None:
    document = {"python": sign(len, NEW, CodeUse.CONDITION).to_document()}
    pattern = Pattern.from_document({"steps": [{"name": "a", "where": document}]})
    with pytest.raises(PatternError, match="cannot be called with two arguments"):
        pattern.load_code(KEYS)


# --- the service


@pytest.fixture
def signing(service: ServiceUnderTest) -> ServiceUnderTest:
    """A service with the signing keys and the stream `logins`."""
    service.begin_with_stream(signing_keys=KEYS)
    return service


def with_condition(code: SignedCode | dict[str, Any]) -> dict[str, Any]:
    document = code.to_document() if isinstance(code, SignedCode) else code
    steps = [{"name": "a", "where": {"all_of": ["amount > 1", {"python": document}]}}]
    return processor_document(pattern={"steps": steps})


def with_function(code: SignedCode | dict[str, Any]) -> dict[str, Any]:
    document = code.to_document() if isinstance(code, SignedCode) else code
    return processor_document(function=document)


PLACES: dict[CodeUse, tuple[Callable[[Any], dict[str, Any]], str]] = {
    CodeUse.CONDITION: (with_condition, "/pattern/steps/0/where/all_of/1/python"),
    CodeUse.FUNCTION: (with_function, "/function"),
}


def is_empty(service: ServiceUnderTest) -> bool:
    """Return whether no processor was stored, and no epoch made but the first."""
    stored = service.client.get("/v1/processors").json()["items"]
    return not stored and service.client.get("/v1/streams/logins").json()["epoch"] == 1


def test_published_code_reaches_a_job_as_it_was_signed(signing: ServiceUnderTest) -> None:
    condition = sign(lambda e, _c: e["amount"] > 5, NEW, CodeUse.CONDITION)
    function = sign(select(lambda match: len(match["a"])), OLD, CodeUse.FUNCTION)
    document = with_condition(condition) | {"function": function.to_document()}

    answer = signing.client.post(
        "/v1/processors", json=document, headers=signing.as_role(Role.PUBLISHER)
    )
    snapshot = signing.client.get("/v1/streams/logins/snapshot").json()
    definition = snapshot["processors"][0]["versions"][0]["definition"]

    assert answer.status_code == 201
    pattern = Pattern.from_document(definition["pattern"]).load_code(KEYS)
    events = [{"ts": ts, "amount": amount} for ts, amount in enumerate([2, 6])]
    assert [match.at for match in find_matches(pattern, events, time_field="ts").matches] == [1]
    read = SignedCode.model_validate(definition["function"])
    assert isinstance(verify_and_load(read, KEYS, CodeUse.FUNCTION), PatternProcessFunction)


@pytest.mark.parametrize("use", CodeUse)
@pytest.mark.parametrize("case", ["wrong key", "unknown key", "tampered payload", "other use"])
def test_the_service_refuses_what_is_not_signed_and_unpickles_nothing(
    use: CodeUse, case: str, signing: ServiceUnderTest, canary: Canary
) -> None:
    write, pointer = PLACES[use]
    other_use = next(other for other in CodeUse if other is not use)
    code = {
        "wrong key": sign(canary, STRANGER, use),
        "unknown key": sign(canary, SigningKey("other", b"x" * 32), use),
        "tampered payload": sign(len, NEW, use).model_copy(
            update={"payload": pickle.dumps(canary)}
        ),
        "other use": sign(canary, NEW, other_use),
    }[case]

    for method, path in (("POST", "/v1/processors"), ("POST", "/v1/validate")):
        answer = signing.client.request(method, path, json=write(code))
        assert answer.status_code == 422
        assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert is_empty(signing)
    assert not canary.file.exists()


@pytest.mark.parametrize("use", CodeUse)
def test_code_of_a_known_key_is_stored_and_never_unpickled(
    use: CodeUse, signing: ServiceUnderTest, canary: Canary
) -> None:
    write, _ = PLACES[use]
    client = signing.client
    document = write(sign(canary, NEW, use))
    path = f"/v1/processors/{document['id']}"

    assert client.post("/v1/processors", json=document).status_code == 201
    assert client.put(path, json=document, headers=ANY_STATE).json()["version"] == 1
    changed = document | {"severity": "high"}
    assert client.put(path, json=changed, headers=ANY_STATE).json()["version"] == 2
    body = {"version": 1}
    assert client.post(f"{path}/rollback", json=body, headers=ANY_STATE).is_success
    assert client.get(f"{path}/comparison?old=1&new=2").is_success
    assert not canary.file.exists()


@pytest.mark.parametrize("use", CodeUse)
def test_the_service_takes_code_for_one_rule_there_and_nowhere_else(
    use: CodeUse, signing: ServiceUnderTest, canary: Canary
) -> None:
    write, pointer = PLACES[use]
    client = signing.client
    document = write(sign(canary, NEW, use, place=HERE))
    assert client.post("/v1/streams", json=STREAM | {"name": "other-stream"}).is_success
    for moved in ({"id": "moved"}, {"stream": "other-stream"}):
        answer = client.post("/v1/processors", json=document | moved)
        assert answer.status_code == 422
        (error,) = answer.json()["errors"]
        assert error["pointer"] == pointer
        assert "is signed for rule 'failed-logins' of stream 'logins', and" in error["detail"]
    assert is_empty(signing)

    assert client.post("/v1/processors", json=document).status_code == 201
    path = f"/v1/processors/{document['id']}"
    assert client.put(path, json=processor_document(), headers=ANY_STATE).is_success
    body = {"version": 1}
    assert client.post(f"{path}/rollback", json=body, headers=ANY_STATE).is_success
    assert not canary.file.exists()


TOO_FEW_KEYS: dict[str, tuple[SigningKeys | None, str]] = {
    "keys that need a rule": (SigningKeys((BOUND,)), "signed for any rule"),
    "no keys": (None, "no signing keys are set here"),
}


@pytest.mark.parametrize("use", CodeUse)
@pytest.mark.parametrize("case", TOO_FEW_KEYS)
def test_without_keys_for_it_the_service_refuses_code_and_takes_other_rules(
    case: str, use: CodeUse, service: ServiceUnderTest
) -> None:
    write, pointer = PLACES[use]
    keys, told = TOO_FEW_KEYS[case]
    service.begin_with_stream(signing_keys=keys)
    answer = service.post("/v1/processors", Role.ADMIN, write(sign(len, NEW, use)), expect=422)
    (error,) = answer["errors"]
    assert (error["pointer"], told in error["detail"]) == (pointer, True)
    assert is_empty(service)
    assert service.client.post("/v1/processors", json=processor_document()).is_success


@pytest.mark.parametrize("use", CodeUse)
def test_authors_may_not_send_code_not_even_to_be_checked(
    use: CodeUse, signing: ServiceUnderTest
) -> None:
    write, _ = PLACES[use]
    client, author = signing.client, signing.as_role(Role.AUTHOR)
    document = write(sign(len, NEW, use))
    for path in ("/v1/processors?paused=true", "/v1/processors", "/v1/validate"):
        answer = client.post(path, json=document, headers=author)
        assert answer.status_code == 403
        assert "Python code" in answer.json()["detail"]
    assert is_empty(signing)

    client.post("/v1/processors?paused=true", json=processor_document()).raise_for_status()
    refused = client.put(
        f"/v1/processors/{document['id']}", json=document, headers=author | ANY_STATE
    )
    assert refused.status_code == 403


def test_code_too_large_is_refused_with_its_place(signing: ServiceUnderTest) -> None:
    large = base64.b64encode(bytes(MAXIMUM_PAYLOAD_BYTES + 1)).decode()
    code = sign(len, NEW, CodeUse.FUNCTION).to_document() | {"payload": large}
    for write, pointer in PLACES.values():
        answer = signing.client.post("/v1/processors", json=write(code))
        assert answer.status_code == 422
        assert [error["pointer"] for error in answer.json()["errors"]] == [f"{pointer}/payload"]


def test_examples_cannot_stand_beside_python_conditions(
    signing: ServiceUnderTest, canary: Canary
) -> None:
    document = with_condition(sign(canary, NEW, CodeUse.CONDITION))
    document["examples"] = [{"events": [{"ts": 1, "amount": 3}]}]
    answer = signing.client.post("/v1/processors", json=document)
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/examples"]
    assert not canary.file.exists()


def test_code_whose_key_was_taken_out_cannot_be_rolled_back_to(service: ServiceUnderTest) -> None:
    document = with_function(sign(len, OLD, CodeUse.FUNCTION))
    path = f"/v1/processors/{document['id']}"
    service.begin_with_stream(signing_keys=KEYS)
    service.client.post("/v1/processors", json=document).raise_for_status()
    put = service.client.put(path, json=processor_document(), headers=ANY_STATE)
    assert put.json()["version"] == 2
    token = service.client.headers["Authorization"]
    with running_service(service.url, signing_keys=SigningKeys((NEW,))) as other:
        other.client.headers["Authorization"] = token
        answer = other.client.post(f"{path}/rollback", json={"version": 1}, headers=ANY_STATE)
        assert answer.status_code == 422
        assert "the key 'old', unknown here" in answer.json()["errors"][0]["detail"]
        assert other.client.get(path).json()["version"] == 2


def test_a_processor_document_shows_no_payload_when_printed() -> None:
    code = sign(len, NEW, CodeUse.FUNCTION)
    shown = repr(ProcessorDocument.model_validate(with_function(code)))
    assert "payload" not in shown
    assert code.signature not in shown
