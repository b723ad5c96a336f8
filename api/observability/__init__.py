"""What operators see of the service: health, metrics, logs with request ids."""
