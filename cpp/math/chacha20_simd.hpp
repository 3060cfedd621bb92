// ChaCha20 with one block in each word of a vector. The anonymous namespace keeps the copy of every file its own,
// compiled as that file is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "math/simd_words.hpp"

namespace lw {

/// 512 bytes: the blocks with counters state[12] to state[12] + 7. For AVX2.
void chacha20_eight_blocks_avx2(const std::uint32_t state[16], std::uint8_t* out) noexcept;
/// 2048 bytes: those up to state[12] + 31. For AVX-512.
void chacha20_thirty_two_blocks_avx512(const std::uint32_t state[16], std::uint8_t* out) noexcept;

namespace {

template <int kBits, typename Words>
inline void half_step(Words& a, Words b, Words& d) noexcept {
  a += b;
  d = rotate_right<32 - kBits>(d ^ a);
}

/// Four quarter rounds side by side in each of some states, on columns or on diagonals: `shift` words of rotation
/// between the rows.
template <std::size_t kShift, typename Words, std::size_t kStates>
inline void four_quarter_rounds(Words (&x)[kStates][16]) noexcept {
  const auto step = [&](auto body) {
#pragma GCC unroll 2
    for (Words(&y)[16] : x) {
#pragma GCC unroll 4
      for (std::size_t i = 0; i < 4; ++i) {
        body(y[i], y[4 + (i + kShift) % 4], y[8 + (i + 2 * kShift) % 4], y[12 + (i + 3 * kShift) % 4]);
      }
    }
  };
  step([](Words& a, Words& b, Words&, Words& d) { half_step<16>(a, b, d); });
  step([](Words&, Words& b, Words& c, Words& d) { half_step<12>(c, d, b); });
  step([](Words& a, Words& b, Words&, Words& d) { half_step<8>(a, b, d); });
  step([](Words&, Words& b, Words& c, Words& d) { half_step<7>(c, d, b); });
}

constexpr int kDoubleRounds = 10;

/// Computes `states` times as many ChaCha20 blocks as a vector has words, with counters from state[12] on. Two states
/// side by side fill 32 registers, and hide the latency of a chain that four quarter rounds leave waiting.
/// between(i): called before double round i, for what may be begun meanwhile.
template <typename Words, std::size_t kStates = 1, typename Between>
inline void chacha20_blocks(const std::uint32_t state[16], std::uint8_t* out, const Between& between) noexcept {
  constexpr std::size_t kBlocks = sizeof(Words) / sizeof(std::uint32_t);
  const auto start = [&](std::size_t s, std::size_t i) {
    Words word = Words{} + state[i];
    for (std::size_t block = 0; i == 12 && block < kBlocks; ++block) {
      word[block] += static_cast<std::uint32_t>(s * kBlocks + block);
    }
    return word;
  };
  Words x[kStates][16];
#pragma GCC unroll 2
  for (std::size_t s = 0; s < kStates; ++s) {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < 16; ++i) x[s][i] = start(s, i);
  }
  for (int round = 0; round < kDoubleRounds; ++round) {
    between(round);
    four_quarter_rounds<0>(x);
    four_quarter_rounds<1>(x);
  }
#pragma GCC unroll 2
  for (std::size_t s = 0; s < kStates; ++s) {
#pragma GCC unroll 4
    for (std::size_t part = 0; part < 16; part += kBlocks) {
      Words rows[kBlocks];
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kBlocks; ++i) rows[i] = x[s][part + i] + start(s, part + i);
      transpose(rows);
#pragma GCC unroll 16
      for (std::size_t i = 0; i < kBlocks; ++i) {
        std::memcpy(out + 64 * (s * kBlocks + i) + 4 * part, &rows[i], sizeof(Words));
      }
    }
  }
}

template <typename Words, std::size_t kStates = 1>
inline void chacha20_blocks(const std::uint32_t state[16], std::uint8_t* out) noexcept {
  chacha20_blocks<Words, kStates>(state, out, [](int) {});
}

}  // namespace
}  // namespace lw
