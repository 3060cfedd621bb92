"""BFV: exact arithmetic on encrypted integers modulo a prime t, two rows of N/2 at a time.

Usable alone, NumPy integers in and out:

    >>> import numpy as np
    >>> from latticework import bfv
    >>> parameters = bfv.Parameters.choose(2**13, plain_bits=20, depth=2)
    >>> context = bfv.Context(parameters)
    >>> keygen = bfv.KeyGenerator(context)
    >>> evaluator = bfv.Evaluator(context, keygen.evaluation_keys(steps=[1, -1], swap_rows=True))
    >>> encryptor = bfv.Encryptor(context, keygen.public_key(), evaluator=evaluator)
    >>> decryptor = bfv.Decryptor(context, keygen.secret_key)
    >>> x = encryptor.encrypt([1, 2, 3, 4])
    >>> y = x * x + 10 * x - 3
    >>> decryptor.decrypt(y)[0, :4]
    array([ 8, 21, 36, 53])
    >>> decryptor.decrypt(y.rotate_rows(1))[0, :3]
    array([21, 36, 53])
    >>> decryptor.noise_budget(y) > 20
    True
"""

from latticework.bfv.ciphertext import Ciphertext, Plaintext
from latticework.bfv.context import Context
from latticework.bfv.encryption import Decryptor, Encoder, Encryptor, load_ciphertexts, save_ciphertexts
from latticework.bfv.evaluator import Evaluator
from latticework.bfv.keys import EvaluationKeys, KeyGenerator, PublicKey, SecretKey
from latticework.bfv.parameters import Parameters
from latticework.errors import DecryptionError
from latticework.params.bfv_noise import Noise, NoiseModel

__all__ = [
    "Ciphertext",
    "Context",
    "DecryptionError",
    "Decryptor",
    "Encoder",
    "Encryptor",
    "EvaluationKeys",
    "Evaluator",
    "KeyGenerator",
    "Noise",
    "NoiseModel",
    "Parameters",
    "Plaintext",
    "PublicKey",
    "SecretKey",
    "load_ciphertexts",
    "save_ciphertexts",
]
