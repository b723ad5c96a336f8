"""How values of Kafka are written, from the job file to the options of `kafka_source`."""

import json
from typing import Any

from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it

from processor_runtime.job_file.source import Source
from processor_runtime.spark.sources.kafka_source import REGISTRY, VALUE_FORM


def form_options(source: Source, schema: T.StructType) -> dict[str, str]:
    """Return the options that say how values are decoded.

    Raises:
        KafkaOptionError: the file of schemas cannot be read.
    """
    form = {"name": source.value_format, "shape": json.dumps(shape_of(schema))}
    if (schemas := source.written_schemas()) is not None:
        form["schemas"] = schemas
    registry = {f"{REGISTRY}{name}": value for name, value in source.schema_registry.items()}
    return {VALUE_FORM: json.dumps(form), **registry}


def shape_of(data_type: T.DataType) -> Any:
    """Return what a column wants of a value, as `kafka.decoding` takes it."""
    match data_type:
        case T.IntegralType():
            return "integer"
        case T.FloatType() | T.DoubleType():
            return "float"
        case T.StructType():
            return {"fields": {each.name: shape_of(each.dataType) for each in data_type}}
        case T.ArrayType():
            return {"items": shape_of(data_type.elementType)}
        case T.MapType():
            return {"values": shape_of(data_type.valueType)}
        case _:
            return None
