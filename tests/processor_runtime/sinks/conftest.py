"""The frames of batches that outputs are given."""

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.processor_runtime.sinks.rows import SCHEMA, Frame, Values


@pytest.fixture
def frame(spark: SparkSession) -> Frame:
    """Makes rows the frame of a batch."""

    def frame_of(*rows: Values) -> DataFrame:
        values = [{name: row.get(name) for name in SCHEMA.names} for row in rows]
        # From Arrow, no Python worker is started for it.
        return spark.createDataFrame(pa.Table.from_pylist(values, SCHEMA))

    return frame_of
