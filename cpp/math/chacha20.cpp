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

void four_blocks(const std::uint32_t state[16], std::uint8_t* out) noexcept { chacha20_blocks<Words4>(state, out); }

/// A kernel that makes some blocks of consecutive counters at a time, from that in word 12 on.
struct Step {
  std::uint32_t blocks;
  void (*make)(const std::uint32_t state[16], std::uint8_t* out) noexcept;
};

/// The kernels that may be used with these vectors, the widest first.
std::span<const Step> steps_of(VectorSet vectors) noexcept {
#if defined(__x86_64__)
  static constexpr std::array kSteps = {Step{32, chacha20_thirty_two_blocks_avx512},
                                        Step{8, chacha20_eight_blocks_avx2}, Step{kWords, four_blocks}};
  return std::span(kSteps).subspan(static_cast<std::size_t>(VectorSet::kAvx512) - static_cast<std::size_t>(vectors));
#else
  static_cast<void>(vectors);  // four words fill those of any other machine
  static constexpr std::array kSteps = {Step{kWords, four_blocks}};
  return kSteps;
#endif
}

}  // namespace

ChaChaState chacha20_state(std::span<const std::uint8_t, 32> key, std::uint32_t counter) noexcept {
  ChaChaState state = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};  // "expand 32-byte k"
  std::memcpy(&state[4], key.data(), key.size());
  state[12] = counter;
  return state;
}

void chacha20_keystream(std::span<const std::uint8_t, 32> key, std::uint32_t counter, std::span<std::uint8_t> out,
                        VectorSet vectors) {
  const std::uint64_t blocks_left = (std::uint64_t{1} << 32) - counter;
  if (out.size() > blocks_left * kStreamBlockBytes) {
    throw Error(ErrorKind::kValue, "chacha20: " + std::to_string(out.size()) + " bytes from block " +
                                       std::to_string(counter) + " pass the end of the stream; use another key");
  }
  ChaChaState state = chacha20_state(key, counter);
  for (const Step& step : steps_of(vectors)) {
    const std::size_t bytes = step.blocks * kStreamBlockBytes;
    for (; out.size() >= bytes; out = out.subspan(bytes)) {
      step.make(state.data(), out.data());
      state[12] += step.blocks;
    }
  }
  if (!out.empty()) {
    std::array<std::uint8_t, kWords * kStreamBlockBytes> tail;
    four_blocks(state.data(), tail.data());
    std::copy_n(tail.begin(), out.size(), out.begin());
    wipe(tail.data(), tail.size());
  }
  wipe(&state, sizeof state);
}

}  // namespace lw
