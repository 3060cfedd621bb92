// The words behind one limb of a uniform polynomial, as ring/uniform.hpp defines them: for every round, a keystream
// whose word i belongs to coefficient i.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "backend/kernels.hpp"
#include "math/blake3.hpp"
#include "math/chacha20.hpp"

namespace lw {

static_assert(std::endian::native == std::endian::little, "stream words are read as they lie in memory");

class LimbStream {
 public:
  LimbStream(const UniformStream& stream, std::uint16_t limb) noexcept : stream_(stream), limb_(limb), key_(key(0)) {}

  /// Words [first, first + out.size()) of round 0; first is a multiple of 8.
  void first_round(std::size_t first, std::span<Word> out) const noexcept { draw(key_, first, out); }

  /// The state from which the block of word 0 of round 0 is made; block b has word 8 b first.
  ChaChaState first_state() const noexcept { return chacha20_state(key_, 0); }

  /// The first word of coefficient i that is not above `largest`, where round 0 gave `word`.
  Word accepted(std::size_t i, Word word, Word largest) const noexcept {
    for (std::uint32_t round = 1; word > largest; ++round) {
      std::array<Word, kBlockWords> block;
      draw(key(round), i - i % kBlockWords, block);
      word = block[i % kBlockWords];
    }
    return word;
  }

 private:
  using Key = std::array<std::uint8_t, 32>;
  static constexpr std::size_t kBlockWords = 8;  // of one ChaCha20 block

  Key key(std::uint32_t round) const noexcept {
    std::array<std::uint8_t, 24> input;
    const std::uint32_t limb = limb_;
    std::memcpy(&input[0], &stream_.domain, 4);
    std::memcpy(&input[4], &stream_.object, 8);
    std::memcpy(&input[12], &stream_.digit, 4);
    std::memcpy(&input[16], &limb, 4);
    std::memcpy(&input[20], &round, 4);
    return blake3_keyed(stream_.seed, input);
  }

  static void draw(const Key& key, std::size_t first, std::span<Word> out) noexcept {
    chacha20_keystream(key, static_cast<std::uint32_t>(first / kBlockWords),
                       {reinterpret_cast<std::uint8_t*>(out.data()), out.size_bytes()});
  }

  const UniformStream& stream_;
  const std::uint16_t limb_;
  const Key key_;
};

}  // namespace lw
