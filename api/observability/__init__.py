"""What operators see of requests: metrics, and logs with request ids."""
