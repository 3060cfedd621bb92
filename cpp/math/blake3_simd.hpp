// The compression function of BLAKE3 on single words, or on one input in each word of a vector. The anonymous namespace
// keeps the copy of every file its own, compiled as that file is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "math/simd_words.hpp"

namespace lw {

/// Inputs of some whole blocks each, `stride` bytes apart: consecutive chunks, or nodes of the tree.
struct Blake3Inputs {
  const std::uint8_t* first;
  std::size_t stride, blocks;
  const std::uint32_t* key;  // 8 words that every input begins with
  std::uint64_t counter;     // of the first
  std::uint32_t step;        // between counters
  std::uint32_t flags, start_flag, end_flag;
};

/// Chaining values of 8 inputs, 8 words each. For AVX2.
void blake3_eight_avx2(const Blake3Inputs& inputs, std::uint32_t* out) noexcept;
/// Hashes 16 inputs. For AVX-512.
void blake3_sixteen_avx512(const Blake3Inputs& inputs, std::uint32_t* out) noexcept;

namespace {

constexpr std::size_t kBlockBytes = 64;
constexpr std::array<std::uint32_t, 8> kIv = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

using MessageSchedule = std::array<std::array<std::uint8_t, 16>, 7>;

/// Makes the message schedule: the message word that each of the sixteen places of each round uses.
constexpr MessageSchedule make_schedule() {
  constexpr std::uint8_t kPermutation[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};
  MessageSchedule schedule{};
  for (std::uint8_t i = 0; i < 16; ++i) schedule[0][i] = i;
  for (std::size_t round = 1; round < 7; ++round) {
    for (std::size_t i = 0; i < 16; ++i) schedule[round][i] = schedule[round - 1][kPermutation[i]];
  }
  return schedule;
}
constexpr MessageSchedule kSchedule = make_schedule();

template <typename Word>
inline void mix(Word& a, Word& b, Word& c, Word& d, Word x, Word y) noexcept {
  a = (a + x) + b;
  d = rotate_right<16>(d ^ a);
  c += d;
  b = rotate_right<12>(b ^ c);
  a = (a + y) + b;
  d = rotate_right<8>(d ^ a);
  c += d;
  b = rotate_right<7>(b ^ c);
}

template <std::size_t kRound, typename Word>
inline void round(Word v[16], const Word m[16]) noexcept {
  constexpr auto s = kSchedule[kRound];
  mix(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
  mix(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
  mix(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
  mix(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
  mix(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
  mix(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
  mix(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
  mix(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
}

/// The compression function on one block, or on one block per word of a vector; v[8..15] are set by the caller.
template <typename Word>
inline void compress(Word cv[8], Word v[16], const Word m[16]) noexcept {
  for (std::size_t i = 0; i < 8; ++i) v[i] = cv[i];
  round<0>(v, m);
  round<1>(v, m);
  round<2>(v, m);
  round<3>(v, m);
  round<4>(v, m);
  round<5>(v, m);
  round<6>(v, m);
  for (std::size_t i = 0; i < 8; ++i) cv[i] = v[i] ^ v[i + 8];
}

template <typename Words>
inline Words spread(std::uint32_t x) noexcept {
  return Words{} + x;
}

/// One input in each word of a vector. load(m, block) gives message word w of input i to word i of m[w]; save(cv) takes
/// the chaining values in the same order.
template <typename Words, typename Load, typename Save>
inline void hash_inputs(const Blake3Inputs& inputs, const Load& load, const Save& save) noexcept {
  constexpr std::size_t kLanes = sizeof(Words) / sizeof(std::uint32_t);
  Words cv[8], counter_low{}, counter_high{};
  for (std::size_t i = 0; i < 8; ++i) cv[i] = spread<Words>(inputs.key[i]);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t counter = inputs.counter + lane * inputs.step;
    counter_low[lane] = static_cast<std::uint32_t>(counter);
    counter_high[lane] = static_cast<std::uint32_t>(counter >> 32);
  }
  for (std::size_t block = 0; block < inputs.blocks; ++block) {
    Words m[16], v[16];
    load(m, inputs.first + block * kBlockBytes);
    const std::uint32_t flags =
        inputs.flags | (block == 0 ? inputs.start_flag : 0) | (block + 1 == inputs.blocks ? inputs.end_flag : 0);
    for (std::size_t i = 0; i < 4; ++i) v[8 + i] = spread<Words>(kIv[i]);
    v[12] = counter_low;
    v[13] = counter_high;
    v[14] = spread<Words>(kBlockBytes);
    v[15] = spread<Words>(flags);
    compress(cv, v, m);
  }
  save(cv);
}

}  // namespace
}  // namespace lw
