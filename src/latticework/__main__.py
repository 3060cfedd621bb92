"""`python -m latticework`: the command line."""

from latticework.cli import main

main()
