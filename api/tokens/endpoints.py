"""Tokens are made, listed and revoked."""

from typing import Annotated

from fastapi import Path

from api.access import repository
from api.access.authentication import Admin
from api.routing import slice_router
from api.tokens import service
from api.transactions import Read, Write
from api.web.problems import documented
from contract.service.tokens import NewToken, TokenDocument, TokenView

router = slice_router("/v1/tokens", "tokens")


@router.post("", status_code=201)
def create_token(document: TokenDocument, _principal: Admin, write: Write) -> NewToken:
    """Make a token; its text is in this answer and nowhere else."""
    write.answer_is_secret = True
    return service.create(write, document)


@router.get("")
def list_tokens(_principal: Admin, session: Read) -> list[TokenView]:
    """Return every token, oldest first, also those no longer valid."""
    return [service.view(token) for token in repository.all_tokens(session)]


@router.delete("/{token_id}", status_code=204, responses=documented(404, 409))
def revoke_token(
    token_id: Annotated[str, Path(pattern="^[0-9a-f]{16}$")], principal: Admin, write: Write
) -> None:
    """Make a token invalid at once."""
    service.refuse_own(token_id, principal.token_id)
    service.revoke(write, token_id)
