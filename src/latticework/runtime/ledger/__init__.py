"""The ledger beside a secret key: it counts what refused results would tell about the key."""
