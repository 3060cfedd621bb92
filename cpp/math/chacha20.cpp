#include "math/chacha20.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "math/chacha20_simd.hpp"
#include "math/entropy.hpp"
#include "math/error.hpp"
#include "math/simd_words.hpp"

namespace lw {
namespace {

constexpr std::size_t kStreamBlockBytes = 64;
constexpr std::size_t kStepBytes = kStreamBlockBytes * kWords;

using ChaChaState = std::array<Words4, 16>;

void quarter_round(Words4& a, Words4& b, Words4& c, Words4& d) noexcept {
  a += b;
  d = rotate_right<16>(d ^ a);
  c += d;
  b = rotate_right<20>(b ^ c);
  a += b;
  d = rotate_right<24>(d ^ a);
  c += d;
  b = rotate_right<25>(b ^ c);
}

ChaChaState initial_state(std::span<const std::uint8_t, 32> key, std::uint32_t counter) noexcept {
  ChaChaState state{};
  constexpr std::uint32_t kSigma[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};  // "expand 32-byte k"
  for (std::size_t i = 0; i < 4; ++i) state[i] = broadcast(kSigma[i]);
  for (std::size_t i = 0; i < 8; ++i) {
    std::uint32_t word;
    std::memcpy(&word, key.data() + 4 * i, sizeof word);
    state[4 + i] = broadcast(word);
  }
  state[12] = broadcast(counter) + Words4{0, 1, 2, 3};
  return state;
}

/// Four consecutive blocks, word i of each vector being of block state[12][i].
void four_blocks(const ChaChaState& state, std::uint8_t* out) noexcept {
  ChaChaState x = state;
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < 4; ++i) quarter_round(x[i], x[4 + i], x[8 + i], x[12 + i]);
    for (std::size_t i = 0; i < 4; ++i) {
      quarter_round(x[i], x[4 + (i + 1) % 4], x[8 + (i + 2) % 4], x[12 + (i + 3) % 4]);
    }
  }
  for (std::size_t i = 0; i < 16; ++i) x[i] += state[i];
  for (std::size_t quarter = 0; quarter < 4; ++quarter) {
    transpose(&x[4 * quarter]);
    for (std::size_t block = 0; block < kWords; ++block) {
      store_words(out + block * kStreamBlockBytes + quarter * sizeof(Words4), x[4 * quarter + block]);
    }
  }
}

/// Some blocks of consecutive counters at a time, from that in word 12 on.
struct WideStep {
  std::uint32_t blocks;
  void (*make)(const std::uint32_t state[16], std::uint8_t* out) noexcept;
};

/// Those that this machine has the instructions for, the widest first.
std::span<const WideStep> wide_steps_here() noexcept {
#if defined(__x86_64__)
  static constexpr std::array kSteps = {WideStep{16, chacha20_sixteen_blocks_avx512},
                                        WideStep{8, chacha20_eight_blocks_avx2}};
  static const std::size_t first = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx2")) return 0;
    return __builtin_cpu_supports("avx2") ? 1 : 2;
  }();
  return std::span(kSteps).subspan(first);
#else
  return {};
#endif
}

/// As many whole wide steps as fit; returns what is left. The counter of `state` moves on.
std::span<std::uint8_t> wide_steps(ChaChaState& state, std::span<std::uint8_t> out) noexcept {
  if (out.size() < 8 * kStreamBlockBytes) return out;
  std::array<std::uint32_t, 16> words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = state[i][0];
  for (const WideStep& step : wide_steps_here()) {
    const std::size_t bytes = step.blocks * kStreamBlockBytes;
    for (; out.size() >= bytes; out = out.subspan(bytes)) {
      step.make(words.data(), out.data());
      words[12] += step.blocks;
    }
  }
  state[12] = broadcast(words[12]) + Words4{0, 1, 2, 3};
  wipe(words.data(), sizeof words);
  return out;
}

}  // namespace

void chacha20_keystream(std::span<const std::uint8_t, 32> key, std::uint32_t counter, std::span<std::uint8_t> out) {
  const std::uint64_t blocks_left = (std::uint64_t{1} << 32) - counter;
  if (out.size() > blocks_left * kStreamBlockBytes) {
    throw Error(ErrorKind::kValue, "chacha20: " + std::to_string(out.size()) + " bytes from block " +
                                       std::to_string(counter) + " pass the end of the stream; use another key");
  }
  ChaChaState state = initial_state(key, counter);
  out = wide_steps(state, out);
  while (out.size() >= kStepBytes) {
    four_blocks(state, out.data());
    state[12] += broadcast(kWords);
    out = out.subspan(kStepBytes);
  }
  if (!out.empty()) {
    std::array<std::uint8_t, kStepBytes> tail;
    four_blocks(state, tail.data());
    std::copy_n(tail.begin(), out.size(), out.begin());
    wipe(tail.data(), tail.size());
  }
  wipe(&state, sizeof state);
}

}  // namespace lw
