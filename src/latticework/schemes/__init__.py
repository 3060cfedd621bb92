"""The RLWE core for experts: what CKKS and BFV share, and each of them."""
