"""The rules of a stream for people: what is published, and what one job runs."""
