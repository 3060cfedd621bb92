"""What can be said of a plan before it runs: each analysis is a domain of `instructions.walk`."""
