"""What jobs are given of a processor, as the documents that would publish it again."""

from typing import Any

from api.client import Client, Processor
from api.gitops.checking import LABELS


def published_documents(client: Client, processor: Processor) -> list[dict[str, Any]]:
    """Return the published versions, lowest first, with the labels of today in each.

    A version that was cancelled is not among them, even if it is the newest.

    Raises:
        ServiceError: the service does not answer.
    """
    labels = {key: value for key, value in processor.document.items() if key in LABELS}
    common = {"id": processor.id, "stream": processor.stream, **labels}
    return [
        processor.document
        if published.version == processor.version
        else common | client.version(processor.id, published.version).document
        for published in processor.published
    ]
