"""Posts rows to a URL as JSON arrays, at least once; a header lets receivers detect repetitions.

    rows, in order ──► parts of at most so many rows and a megabyte ──► POST, again, … ──► done
                                                                          └─► fail │ skip

A batch that is written again is split into the same parts, so that they have the same
Idempotency-Key.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from pyspark.sql import DataFrame

from processor_runtime.job_file.outputs import WebhookOutput
from processor_runtime.secret_names import secret_options
from processor_runtime.spark.failure_text import without
from processor_runtime.spark.sinks.output_sink import RowsLost, SinkSurroundings
from processor_runtime.spark.sinks.row_columns import ROW_ID, row_json, with_times
from processor_runtime.spark.sinks.row_identity import rows_in_order, with_identity
from processor_runtime.spark.sinks.webhook.requests import (
    Deadline,
    WebhookRefused,
    WebhookRequests,
    idempotency_key,
)

BYTES_PER_REQUEST: Final = 1_000_000


class WebhookSink:
    """Posts batches; what cannot be delivered fails the batch, or is skipped.

    `output`: where to post to, how often to try, and for how long. `requests`: sends requests; by
    default created from the output.

    Raises:
        ValueError: a variable with a secret is not set.
    """

    def __init__(
        self,
        output: WebhookOutput,
        surroundings: SinkSurroundings,
        requests: WebhookRequests | None = None,
    ) -> None:
        self._output = output
        self._key_prefix = f"{surroundings.checkpoint_id}/{output.name}"
        token = secret = ""
        if output.token_env is not None:
            token = surroundings.secret(output.token_env, "token_env")
        if output.signature_secret_env is not None:
            secret = surroundings.secret(output.signature_secret_env, "signature_secret_env")
        self._requests = requests or WebhookRequests(output, token, secret)
        # Many receivers have their secret in the path or the query of the URL.
        url = output.url
        self.secrets = frozenset(
            {token, secret, str(url), url.path or "", url.query or "", url.password or ""} - {"/"}
        ) | secret_options(output.headers)
        self.remedy = (
            f"Look at the receiver at {url.host}, and at token_env. The batch is posted again when "
            "the job is started again, with the same Idempotency-Key. With on_failure: skip rows "
            "that cannot be delivered do not stop the job."
        )

    def write(self, rows: DataFrame, batch_id: int, row_count: int) -> None:
        """Post the rows of a batch.

        Raises:
            RowsLost: they could not be delivered in time and are skipped.
            WebhookRefused: they could not be delivered in time and may not be skipped.
        """
        if row_count == 0:
            return
        timed = with_times(with_identity(rows, batch_id, row_count))
        texts = timed.select(ROW_ID, row_json(timed).alias("text"))
        encoded = (row["text"].encode() for row in rows_in_order(texts, row_count))
        deadline = Deadline.after(self._output.give_up_after_seconds)
        delivered = 0
        for part in parts(encoded, self._output.rows_per_request):
            body = b"[" + b",".join(part) + b"]"
            try:
                self._requests.deliver(
                    body, idempotency_key(self._key_prefix, batch_id, body), deadline
                )
            except WebhookRefused as refused:
                if self._output.on_failure == "fail":
                    raise
                # The rest would most likely fail, too, and only take time.
                lost = row_count - delivered
                reason = without(str(refused), self.secrets)
                message = f"{lost} of {row_count} rows of batch {batch_id} are lost: {reason}"
                raise RowsLost(lost, message) from None
            delivered += len(part)

    def close(self) -> None:
        """Close the connections."""
        self._requests.close()


def parts(rows: Iterable[bytes], rows_per_part: int) -> Iterator[list[bytes]]:
    """Yield rows in parts that are bounded in number and in bytes; a single row may exceed that."""
    part: list[bytes] = []
    part_bytes = 0
    for row in rows:
        if part and (len(part) == rows_per_part or part_bytes + len(row) > BYTES_PER_REQUEST):
            yield part
            part, part_bytes = [], 0
        part.append(row)
        part_bytes += len(row)
    if part:
        yield part
