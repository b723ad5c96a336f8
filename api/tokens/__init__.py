"""Access tokens: created, listed and revoked; only their SHA-256 is stored."""
