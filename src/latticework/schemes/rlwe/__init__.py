"""The base of the two schemes: parameters, keys, ciphertexts, files, rotations, checks.

`latticework.ckks` and `latticework.bfv` derive their classes from those here, so that a call that both have takes and
gives the same. Nothing here knows either of them.
"""
