"""The evaluations of the five papers, row by row beside stored results: `python -m bench.papers` writes docs/papers.md.

Each paper has a file, which names the stored rows that its tables are compared with.
"""
