// The words behind uniform polynomials (ring/uniform.hpp) in registers: a block of a ChaCha20 keystream (RFC 8439, zero
// nonce), and its keys, each the BLAKE3 keyed hash of 24 bytes.
#pragma once

#include <cstdint>

#include "backend/gpu/phase.hpp"

namespace lw::gpu {

LW_GPU std::uint32_t rotated_left(std::uint32_t x, unsigned bits) noexcept { return x << bits | x >> (32 - bits); }

struct StreamKey {
  std::uint32_t words[8];
};

/// 16 words of 32 bits, each of which has a number that is known when this is compiled.
struct ChaChaBlock {
  std::uint32_t x[16];

  LW_GPU ChaChaBlock(const StreamKey& key, std::uint32_t counter) noexcept {
    start(key, counter);
    for (int round = 0; round < 10; ++round) {
      quarter_round<0, 4, 8, 12>();
      quarter_round<1, 5, 9, 13>();
      quarter_round<2, 6, 10, 14>();
      quarter_round<3, 7, 11, 15>();
      quarter_round<0, 5, 10, 15>();
      quarter_round<1, 6, 11, 12>();
      quarter_round<2, 7, 8, 13>();
      quarter_round<3, 4, 9, 14>();
    }
    const std::uint32_t constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    LW_GPU_UNROLL
    for (int i = 0; i < 4; ++i) x[i] += constants[i];
    LW_GPU_UNROLL
    for (int i = 0; i < 8; ++i) x[4 + i] += key.words[i];
    x[12] += counter;
  }

 private:
  LW_GPU void start(const StreamKey& key, std::uint32_t counter) noexcept {
    x[0] = 0x61707865, x[1] = 0x3320646e, x[2] = 0x79622d32, x[3] = 0x6b206574;  // "expand 32-byte k"
    LW_GPU_UNROLL
    for (int i = 0; i < 8; ++i) x[4 + i] = key.words[i];
    x[12] = counter, x[13] = 0, x[14] = 0, x[15] = 0;
  }
  template <int kA, int kB, int kC, int kD>
  LW_GPU void quarter_round() noexcept {
    x[kA] += x[kB], x[kD] = rotated_left(x[kD] ^ x[kA], 16);
    x[kC] += x[kD], x[kB] = rotated_left(x[kB] ^ x[kC], 12);
    x[kA] += x[kB], x[kD] = rotated_left(x[kD] ^ x[kA], 8);
    x[kC] += x[kD], x[kB] = rotated_left(x[kB] ^ x[kC], 7);
  }
};

/// The name of a polynomial, but for limb and round.
struct StreamFields {
  StreamKey seed;
  std::uint32_t words[4];  // domain, object (two words), digit
};

/// The only compression of a keyed hash of one block.
class KeyHash {
 public:
  LW_GPU KeyHash(const StreamFields& name, std::uint32_t limb, std::uint32_t round) noexcept {
    constexpr std::uint32_t kBytes = 24, kFlags = 1 | 2 | 8 | 16;  // of chunk start and end, root, keyed
    LW_GPU_UNROLL
    for (int i = 0; i < 8; ++i) v_[i] = name.seed.words[i];
    v_[8] = 0x6a09e667, v_[9] = 0xbb67ae85, v_[10] = 0x3c6ef372, v_[11] = 0xa54ff53a;
    v_[12] = 0, v_[13] = 0, v_[14] = kBytes, v_[15] = kFlags;
    LW_GPU_UNROLL
    for (int i = 0; i < 16; ++i) m_[i] = i < 4 ? name.words[i % 4] : 0;
    m_[4] = limb, m_[5] = round;
    for (int i = 0; i < 7; ++i) {
      mix<0, 4, 8, 12>(m_[0], m_[1]);
      mix<1, 5, 9, 13>(m_[2], m_[3]);
      mix<2, 6, 10, 14>(m_[4], m_[5]);
      mix<3, 7, 11, 15>(m_[6], m_[7]);
      mix<0, 5, 10, 15>(m_[8], m_[9]);
      mix<1, 6, 11, 12>(m_[10], m_[11]);
      mix<2, 7, 8, 13>(m_[12], m_[13]);
      mix<3, 4, 9, 14>(m_[14], m_[15]);
      permute();
    }
  }
  LW_GPU StreamKey key() const noexcept {
    StreamKey key;
    LW_GPU_UNROLL
    for (int i = 0; i < 8; ++i) key.words[i] = v_[i] ^ v_[8 + i];
    return key;
  }

 private:
  template <int kA, int kB, int kC, int kD>
  LW_GPU void mix(std::uint32_t x, std::uint32_t y) noexcept {
    v_[kA] += v_[kB] + x, v_[kD] = rotated_left(v_[kD] ^ v_[kA], 16);
    v_[kC] += v_[kD], v_[kB] = rotated_left(v_[kB] ^ v_[kC], 20);
    v_[kA] += v_[kB] + y, v_[kD] = rotated_left(v_[kD] ^ v_[kA], 24);
    v_[kC] += v_[kD], v_[kB] = rotated_left(v_[kB] ^ v_[kC], 25);
  }
  /// Permutes the message words between rounds: the cycles are (0 2 3 10 12 9 11 5), (1 6 4 7 13 14 15 8).
  LW_GPU void permute() noexcept {
    const std::uint32_t first = m_[0], second = m_[1];
    m_[0] = m_[2], m_[2] = m_[3], m_[3] = m_[10], m_[10] = m_[12], m_[12] = m_[9], m_[9] = m_[11], m_[11] = m_[5];
    m_[5] = first;
    m_[1] = m_[6], m_[6] = m_[4], m_[4] = m_[7], m_[7] = m_[13], m_[13] = m_[14], m_[14] = m_[15], m_[15] = m_[8];
    m_[8] = second;
  }

  std::uint32_t v_[16], m_[16];
};

/// Keystreams by the block, of kernels that have a thread for eight words: it draws a block into shared memory; then
/// neighbours take the words in their order. In a grid of (parts of a limb, ...).
struct KeystreamWords {
  static constexpr std::uint32_t kThreads = 128;
  static constexpr std::uint32_t kBlockWords = 8;  // of a thread
  struct Registers {};

  static constexpr std::uint32_t shared_words(std::uint32_t threads) noexcept { return kBlockWords * (threads + 2); }
  static LW_GPU std::uint32_t first_block(const Place& place) noexcept { return place.block[0] * place.threads; }

  static LW_GPU void draw(const StreamKey& key, const Place& place, Shared shared) noexcept {
    const ChaChaBlock block(key, first_block(place) + place.thread);
    LW_GPU_UNROLL
    for (std::uint32_t k = 0; k < kBlockWords; ++k) {
      shared.store(k * pitch(place.threads) + place.thread, word_of_block(block, k));
    }
  }
  /// Word w of those of all threads.
  static LW_GPU std::uint64_t word(std::uint32_t w, const Place& place, Shared shared) noexcept {
    return shared.load(w % kBlockWords * pitch(place.threads) + w / kBlockWords);
  }
  static LW_GPU std::uint64_t word_of_block(const ChaChaBlock& block, std::uint32_t k) noexcept {
    return std::uint64_t{block.x[2 * k + 1]} << 32 | block.x[2 * k];
  }

 private:
  /// Words k of all blocks lie together; two words between them keep threads that read in order on different banks.
  static LW_GPU std::uint32_t pitch(std::uint32_t threads) noexcept { return threads + 2; }
};

}  // namespace lw::gpu
