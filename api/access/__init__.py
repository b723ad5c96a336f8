"""Authentication of requests, and the permissions of roles."""
