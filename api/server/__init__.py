"""How the service listens: connections are few enough, and none is held open by doing nothing."""
