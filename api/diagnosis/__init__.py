"""Why a rule has found nothing yet, from what its jobs report: its funnel, and the whole chain."""
