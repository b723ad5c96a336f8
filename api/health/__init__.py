"""Health and metrics, for load balancers and operators."""
