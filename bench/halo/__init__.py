"""The programs of HALO (ASPLOS'25), compiled by its rules, by those before it, and by ours."""
