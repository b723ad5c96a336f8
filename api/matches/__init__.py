"""Recent matches: jobs post them; people page through them and see the newest appear."""
