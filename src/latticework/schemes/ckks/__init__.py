"""The CKKS core directly, for those who know the scheme: parameters, keys, ciphertexts and operations on them.

NumPy arrays in and out. Nothing is chosen behind your back: levels, scales and degrees are yours, every operation
checks them first, and says what to do where they do not fit. docs/ckks.md has a tour and the names that SEAL and
OpenFHE use for the same things.
"""

from latticework.errors import (
    DtypeError,
    FormatError,
    LevelError,
    MissingKeyError,
    ParameterMismatchError,
    PrecisionError,
    RangeError,
    ScaleError,
    SecretKeyError,
    SecurityError,
    ShapeError,
    UnsupportedError,
    UserError,
)
from latticework.plan.analysis.error_model import Bound
from latticework.schemes.ckks.bootstrapper import Bootstrapper
from latticework.schemes.ckks.ckks_ciphertext import Ciphertext, Plaintext
from latticework.schemes.ckks.ckks_encryption import Decryptor, Encoder, Encryptor
from latticework.schemes.ckks.ckks_evaluator import Evaluator
from latticework.schemes.ckks.ckks_keys import EvaluationKeys, KeyGenerator, PublicKey, SecretKey
from latticework.schemes.ckks.ckks_parameters import Parameters
from latticework.schemes.ckks.ckks_polynomials import Polynomial, chebyshev
from latticework.schemes.ckks.estimates import Estimate, Estimator
from latticework.schemes.ckks.linear_maps import LinearTransform
from latticework.schemes.rlwe.files import CiphertextFiles

_files = CiphertextFiles[Parameters, Ciphertext, Evaluator](Ciphertext)
save_ciphertexts, load_ciphertexts = _files.save_ciphertexts, _files.load_ciphertexts
ciphertexts_to_bytes, ciphertexts_from_bytes = _files.ciphertexts_to_bytes, _files.ciphertexts_from_bytes

__all__ = [
    "Bootstrapper",
    "Bound",
    "Ciphertext",
    "Decryptor",
    "DtypeError",
    "Encoder",
    "Encryptor",
    "Estimate",
    "Estimator",
    "EvaluationKeys",
    "Evaluator",
    "FormatError",
    "KeyGenerator",
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
    "SecretKeyError",
    "SecurityError",
    "ShapeError",
    "UnsupportedError",
    "UserError",
    "chebyshev",
    "ciphertexts_from_bytes",
    "ciphertexts_to_bytes",
    "load_ciphertexts",
    "save_ciphertexts",
]
