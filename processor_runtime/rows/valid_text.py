"""Texts that are no UTF-8, which Spark hands on as they stand in files, made readable.

Arrow batch of a source ──with_valid_text──► the same, each wrong byte replaced by `�`
"""

import pyarrow as pa


def with_valid_text(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch in which every text is UTF-8; most batches are returned as they are."""
    columns = [
        _repaired(column) if _holds_text(column.type) and not _is_valid(column) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _holds_text(data_type: pa.DataType) -> bool:
    return _is_text(data_type) or any(
        _holds_text(data_type.field(place).type) for place in range(data_type.num_fields)
    )


def _is_text(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_string(data_type) or pa.types.is_large_string(data_type))


def _is_valid(column: pa.Array) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _repaired(column: pa.Array) -> pa.Array:
    """Return an array with its texts corrected, at any depth; it begins at its own first value."""
    data_type, is_null = column.type, column.is_null()
    if _is_text(data_type):
        values = column.cast(pa.large_binary()).to_pylist()
        texts = [None if each is None else each.decode(errors="replace") for each in values]
        return pa.array(texts, data_type)
    if pa.types.is_struct(data_type):
        parts = [_repaired(column.field(place)) for place in range(data_type.num_fields)]
        return pa.StructArray.from_arrays(parts, fields=list(data_type), mask=is_null)
    if pa.types.is_map(data_type):
        keys, items = _repaired(column.keys), _repaired(column.items)
        return pa.MapArray.from_arrays(column.offsets, keys, items, data_type, mask=is_null)
    if pa.types.is_list(data_type):
        values = _repaired(column.values)
        return pa.ListArray.from_arrays(column.offsets, values, data_type, mask=is_null)
    return column
