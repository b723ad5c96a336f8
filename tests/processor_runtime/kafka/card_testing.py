"""Payments and the rule of docs/first-alert.md, which the jobs of docs/kafka.md run."""

import json
from pathlib import Path
from typing import Final

RULES: Final = """
name: payments
schema: card STRING, amount DECIMAL(10,2), ts TIMESTAMP
event_time_column: ts
---
id: tested-card
stream: payments
key_by: [card]
pattern:
  steps:
    - {name: small, where: amount < 2}
    - {name: large, contiguity: followed_by, where: amount > 100}
  within: 10 minutes
select: {card: small.card, tested_with: small.amount, spent: large.amount}
"""
PAYMENTS: Final = [
    json.dumps({"card": "4711", "amount": amount, "ts": f"2026-11-23T10:{minute:02}:00Z"}).encode()
    for amount, minute in [("1.00", 0), ("250.00", 3), ("30.00", 5)]
]


def write_rules(folder: Path) -> None:
    folder.mkdir()
    (folder / "payments.yaml").write_text(RULES, encoding="utf-8")
