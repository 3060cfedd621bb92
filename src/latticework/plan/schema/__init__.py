"""The records of a plan: plain values that the compiler writes, and that client, server and reports read."""
