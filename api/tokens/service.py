"""Creates and revokes tokens, for the API and the command line."""

import json
import secrets
from http import HTTPStatus

from api.access import repository
from api.access.authentication import new_token_text, streams_of, token_sha256
from api.access.tables import Token
from api.audit.log import record
from api.store.views import view_of
from api.transactions import Writing
from api.web.problems import Refusal, invalid, not_found
from contract.service.problems import Flaw
from contract.service.tokens import NewToken, Role, TokenDocument, TokenView


def create(writing: Writing, document: TokenDocument) -> NewToken:
    """Create a token and return it with its text.

    Raises:
        Refusal: it would have expired already (422).
    """
    if document.expires_at is not None and document.expires_at <= writing.now_ms:
        flaw = Flaw(
            pointer="/expires_at", detail="This time has passed.", remedy="Give a later one."
        )
        raise invalid("token", [flaw])
    text = new_token_text()
    token = Token(
        id=secrets.token_hex(8),
        name=document.name,
        person=document.person or "",
        role=document.role.value,
        streams=None if document.streams is None else json.dumps(document.streams),
        sha256=token_sha256(text),
        created_at_ms=writing.now_ms,
        created_by=writing.actor,
        expires_at_ms=document.expires_at,
    )
    writing.session.add(token)
    whose = f" of {token.person}" if token.person else ""
    where = "" if document.streams is None else f" on {', '.join(document.streams)}"
    subject = f"{token.id} {token.name} {token.role}{whose}{where}"
    record(writing, "token.create", subject=subject)
    return NewToken(**view(token).model_dump(), token=text)


def create_first(writing: Writing) -> NewToken | None:
    """Create an admin token if there is no token at all."""
    if repository.any_token(writing.session):
        return None
    return create(writing, TokenDocument(name="first admin", role=Role.ADMIN))


def revoke(writing: Writing, token_id: str) -> None:
    """Make a token permanently invalid; doing so twice changes nothing.

    Raises:
        Refusal: there is no such token (404), or it is the one in use (409).
    """
    token = repository.token_of_id(writing.session, token_id)
    if token is None:
        raise not_found("token", token_id)
    if token.revoked_at_ms is None:
        token.revoked_at_ms = writing.now_ms
        record(writing, "token.revoke", subject=f"{token.id} {token.name}")


def refuse_own(token_id: str, own_id: str) -> None:
    """Prevent admins from locking themselves out.

    Raises:
        Refusal: the token is the one in use (409).
    """
    if token_id == own_id:
        raise Refusal(HTTPStatus.CONFLICT, "This is the token in use. Revoke it with another one.")


def view(token: Token) -> TokenView:
    """Return a token without its text."""
    streams = streams_of(token)
    return view_of(TokenView, token, streams=None if streams is None else sorted(streams))
