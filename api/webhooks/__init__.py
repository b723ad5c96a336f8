"""Webhooks: the service tells other systems what needs attention, signed and until it arrives."""
