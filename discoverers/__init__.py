"""Where processors come from: the driver side of a job."""
