#include <array>
#include <bit>
#include <cstring>

#include "backend/cpu/kernels.hpp"
#include "backend/cpu/queue.hpp"
#include "math/blake3.hpp"
#include "math/chacha20.hpp"

namespace lw::cpu {
namespace {

static_assert(std::endian::native == std::endian::little, "stream words are read as they lie in memory");

constexpr std::size_t kBlockWords = 8;     // of one ChaCha20 block
constexpr std::size_t kChunkWords = 1024;  // drawn at once

// One limb of one polynomial: for every round, a keystream whose word i belongs to coefficient i.
class LimbStream {
 public:
  LimbStream(const UniformStream& stream, std::uint16_t limb) noexcept : stream_(stream), limb_(limb), key_(key(0)) {}

  /// Words [first, first + out.size()) of round 0; first is a multiple of 8.
  void first_round(std::size_t first, std::span<Word> out) const noexcept { draw(key_, first, out); }

  /// Word i of a later round.
  Word later_round(std::uint32_t round, std::size_t i) const noexcept {
    std::array<Word, kBlockWords> block;
    draw(key(round), i - i % kBlockWords, block);
    return block[i % kBlockWords];
  }

 private:
  using Key = std::array<std::uint8_t, 32>;

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

}  // namespace

void expand_uniform(Queue& q, Rows out, const UniformStream& stream) noexcept {
  constexpr std::size_t kCycles = 16;
  CpuQueue& queue = cpu_queue(q);
  queue.for_rows(out, queue.degree * kCycles, [&](std::size_t poly, std::size_t j) {
    const Modulus m = queue.moduli[out.limbs[j]];
    const Word largest_accepted = ~Word{0} / m.value() * m.value() - 1;
    const LimbStream words(stream, out.limbs[j]);
    Word* x = out.row(poly, j);
    for (std::size_t start = 0; start < queue.degree; start += kChunkWords) {
      const std::size_t size = std::min<std::size_t>(kChunkWords, queue.degree - start);
      words.first_round(start, {x + start, size});
      for (std::size_t i = start; i < start + size; ++i) {
        Word word = x[i];
        for (std::uint32_t round = 1; word > largest_accepted; ++round) word = words.later_round(round, i);
        x[i] = balanced_word(m.reduce(word), m.value());
      }
    }
  });
}

}  // namespace lw::cpu
