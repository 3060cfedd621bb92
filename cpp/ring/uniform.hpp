// The purposes of uniform polynomials, and the expansion of one from a seed.
//
// Limb number l of the polynomial named by (seed, domain, object, digit) is, for
// round = 0, 1, ...:
//   key   = BLAKE3 keyed_hash(seed, u32 domain | u64 object | u32 digit | u32 l | u32 round), little endian
//   words = ChaCha20 keystream under key (RFC 8439, zero nonce, block counter from 0), 8 bytes each, little endian
// Coefficient i is word i mod q_l if the word is below floor(2^64 / q_l) * q_l, and
// otherwise the same of round + 1. No position depends on another, so any vector width,
// thread or device expands the same residues. They are taken to be in the NTT domain.
#pragma once

#include <cstdint>

namespace lw {

/// The `domain` of a UniformStream. Private domains take one-time seeds from the system and never a public seed.
enum class StreamDomain : std::uint32_t {
  kPublicKey = 1,
  kEvaluationKey = 2,     // object = index of the key in its set, digit = digit number
  kSeededCiphertext = 3,  // object = ciphertext number
  kSecretKey = 16,
  kError = 17,
  kEncryptionMask = 18,
  kSparseSecret = 19,
};

}  // namespace lw
