"""The plan of the stream: both stages as Spark runs them, and the rows between them."""
