"""BFV: exact arithmetic on encrypted integers modulo a prime t, two rows of N/2 at a time.

Usable alone, NumPy integers in and out:

    >>> import numpy as np
    >>> from latticework import bfv
    >>> parameters = bfv.Parameters.choose(depth=2, plain_bits=20)
    >>> keygen = bfv.KeyGenerator(parameters)
    >>> evaluator = bfv.Evaluator(parameters, keygen.evaluation_keys(steps=[1, -1], swap_rows=True))
    >>> encryptor = bfv.Encryptor(parameters, keygen.public_key(), evaluator=evaluator)
    >>> decryptor = bfv.Decryptor(parameters, keygen.secret_key())
    >>> x = encryptor.encrypt([1, 2, 3, 4])
    >>> y = x * x + 10 * x - 3
    >>> decryptor.decrypt(y)[0, :4]
    array([ 8, 21, 36, 53])
    >>> decryptor.decrypt(y.rotate(1))[0, :3]
    array([21, 36, 53])
    >>> decryptor.noise_budget(y) > 20
    True
"""

from latticework.errors import (
    DecryptionError,
    DtypeError,
    FormatError,
    LevelError,
    MissingKeyError,
    ParameterMismatchError,
    RangeError,
    SecretKeyError,
    SecurityError,
    ShapeError,
    UnsupportedError,
    UserError,
)
from latticework.plan.parameters.bfv_noise import Noise
from latticework.schemes.bfv.bfv_ciphertext import Ciphertext, Plaintext
from latticework.schemes.bfv.bfv_encryption import Decryptor, Encoder, Encryptor
from latticework.schemes.bfv.bfv_evaluator import Evaluator
from latticework.schemes.bfv.bfv_keys import EvaluationKeys, KeyGenerator, PublicKey, SecretKey
from latticework.schemes.bfv.bfv_noise_model import NoiseModel
from latticework.schemes.bfv.bfv_parameters import Parameters
from latticework.schemes.rlwe.files import CiphertextFiles

_files = CiphertextFiles[Parameters, Ciphertext, Evaluator](Ciphertext)
save_ciphertexts, load_ciphertexts = _files.save_ciphertexts, _files.load_ciphertexts
ciphertexts_to_bytes, ciphertexts_from_bytes = _files.ciphertexts_to_bytes, _files.ciphertexts_from_bytes

__all__ = [
    "Ciphertext",
    "DecryptionError",
    "Decryptor",
    "DtypeError",
    "Encoder",
    "Encryptor",
    "EvaluationKeys",
    "Evaluator",
    "FormatError",
    "KeyGenerator",
    "LevelError",
    "MissingKeyError",
    "Noise",
    "NoiseModel",
    "ParameterMismatchError",
    "Parameters",
    "Plaintext",
    "PublicKey",
    "RangeError",
    "SecretKey",
    "SecretKeyError",
    "SecurityError",
    "ShapeError",
    "UnsupportedError",
    "UserError",
    "ciphertexts_from_bytes",
    "ciphertexts_to_bytes",
    "load_ciphertexts",
    "save_ciphertexts",
]
