"""The CKKS core directly, for those who know the scheme: parameters, keys, ciphertexts and operations on them.

NumPy arrays in and out. Nothing is chosen behind your back: levels, scales and degrees are yours, every operation
checks them first, and says what to do where they do not fit. docs/ckks.md has a tour and the names that SEAL and
OpenFHE use for the same things.
"""

from latticework.ckks.bootstrapper import Bootstrapper
from latticework.ckks.ciphertext import Ciphertext, Plaintext
from latticework.ckks.encryption import Decryptor, Encoder, Encryptor
from latticework.ckks.estimates import Estimate, Estimator
from latticework.ckks.evaluator import Evaluator, load_ciphertexts, save_ciphertexts
from latticework.ckks.keys import KeyGenerator, KeySet, PublicKey, SecretKey
from latticework.ckks.linear import LinearTransform
from latticework.ckks.parameters import Parameters
from latticework.ckks.polynomials import Polynomial, chebyshev
from latticework.errors import (
    LevelError,
    MissingKeyError,
    ParameterMismatchError,
    PrecisionError,
    RangeError,
    ScaleError,
    SecurityError,
    ShapeError,
    UserError,
)
from latticework.plan.error_model import Bound

__all__ = [
    "Bootstrapper",
    "Bound",
    "Ciphertext",
    "Decryptor",
    "Encoder",
    "Encryptor",
    "Estimate",
    "Estimator",
    "Evaluator",
    "KeyGenerator",
    "KeySet",
    "LevelError",
    "LinearTransform",
    "MissingKeyError",
    "ParameterMismatchError",
    "Parameters",
    "Plaintext",
    "Polynomial",
    "PrecisionError",
    "PublicKey",
    "RangeError",
    "ScaleError",
    "SecretKey",
    "SecurityError",
    "ShapeError",
    "UserError",
    "chebyshev",
    "load_ciphertexts",
    "save_ciphertexts",
]
