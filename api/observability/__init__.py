"""What operators see of requests: metrics, logs with request ids, and spans if asked for."""
