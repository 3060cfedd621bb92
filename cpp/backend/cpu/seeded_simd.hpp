// Uniform limbs from their keystream, with packed limbs beside them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/cpu/limb_kernels.hpp"
#include "backend/cpu/residues_simd.hpp"
#include "math/chacha20_simd.hpp"

namespace lw::cpu {
namespace {

constexpr std::size_t kLineWords = 8;

/// Any words modulo q, and whether one was above the largest that counts. A word is high + low, both exact, high a
/// multiple of 2^32; with a quotient c near it over q, high - c q is exact, and so is the residue. c is off by at most
/// 1/2 + 3 * 2^11 / q, which for small q asks for one more reduction.
template <class V>
class FromStream {
 public:
  FromStream(std::uint64_t largest, const Prime& p) noexcept : prime_(p), above_(largest), is_small_(p.q < 0x1p17) {}

  typename V::F64 operator()(typename V::I64 x) noexcept {
    above_.show(x);
    const typename V::F64 high = V::upper_half(x), low = V::low_half(x);
    const typename V::F64 quotient = V::round(V::mul(V::add(high, low), prime_.inverse));
    const typename V::F64 residue = V::add(V::fnma(quotient, prime_.q, high), low);
    return is_small_ ? prime_.reduce(residue) : residue;
  }
  bool all_right() const noexcept { return above_.none(); }

 private:
  const PrimeVectors<V> prime_;
  typename V::Above above_;
  const bool is_small_;
};

/// Words of the keystream from `first` on: as many as a step takes. between(round), 0 <= round < kRoundsOfStep: called
/// while they are drawn, which needs no memory and no scalar units.
constexpr std::size_t kStreamWords = 8;  // of a block
template <class V>
constexpr std::size_t kDrawnBlocks = V::kStreamStates * sizeof(typename V::Stream) / sizeof(std::uint32_t);
template <class V>
constexpr std::size_t kRoundsOfStep = kExpandStep / (kDrawnBlocks<V> * kStreamWords) * kDoubleRounds;

template <class V, class Between>
void draw_step(Word* words, std::size_t first, ChaChaState state, const Between& between) noexcept {
  state[12] += static_cast<std::uint32_t>(first / kStreamWords);
  std::size_t round = 0;
  for (std::size_t i = 0; i < kExpandStep; i += kDrawnBlocks<V> * kStreamWords, state[12] += kDrawnBlocks<V>) {
    std::uint8_t* const to = reinterpret_cast<std::uint8_t*>(words + i);
    chacha20_blocks<typename V::Stream, V::kStreamStates>(state.data(), to, [&](int) { between(round++); });
  }
}

/// A limb by itself, into the caches. The lines that the next step writes come near while the keystream is drawn: to
/// write is to wait for them.
template <class V>
struct Alone {
  Word* out;
  std::size_t n;

  void between(std::size_t first, std::size_t round) noexcept {
    constexpr std::size_t kEach = (kExpandStep / kLineWords + kRoundsOfStep<V> - 1) / kRoundsOfStep<V> * kLineWords;
    Word* const next = out + (first + 2 * kExpandStep <= n ? first + kExpandStep : 0);
    for (std::size_t i = round * kEach; i < std::min((round + 1) * kEach, kExpandStep); i += kLineWords) {
      V::prefetch_to_write(next + i);
    }
  }
  static void write(Word* to, typename V::F64 x) noexcept { V::store(to, x); }
  void after(std::size_t) noexcept {}
  void finish() noexcept {}
};

/// A limb with a packed one beside it, past the caches, since another thread reads them later: they take no room there,
/// and no line is read to be overwritten. The packed bytes are added up while the keystream is drawn.
template <class V>
class WithPacked {
 public:
  WithPacked(LimbToUnpack& packed, std::size_t n, const Prime& p) noexcept
      : packed_(packed),
        n_(n),
        unpacker_(packed.width, p),
        sums_(packed.sums == nullptr ? FastSum::Sums{} : *packed.sums) {}

  [[gnu::always_inline]] void between(std::size_t first, std::size_t round) noexcept {
    constexpr std::size_t kRounds = kRoundsOfStep<V>;
    if (packed_.sums == nullptr || first + kExpandStep > n_) return;
    // A step has packed.width stripes: kExpandStep / 8 groups of as many bytes.
    static_assert(kExpandStep / 8 == FastSum::kStripeBytes);
    const std::byte* from = packed_.from + first / 8 * packed_.width;
    const std::size_t end = (round + 1) * packed_.width / kRounds;
    for (std::size_t i = round * packed_.width / kRounds; i < end; ++i) {
      FastSum::add_stripe(sums_, from + i * FastSum::kStripeBytes);
    }
  }
  static void write(Word* to, typename V::F64 x) noexcept { V::stream(to, x); }
  void after(std::size_t first) noexcept {
    if (packed_.sums != nullptr && first + kExpandStep <= n_) packed_.stripes += packed_.width;
    const std::size_t end = std::min(first + kExpandStep, packed_.count);
    const std::byte* from = packed_.from + first / 8 * packed_.width;
    for (std::size_t i = first; i < end; i += 8, from += packed_.width) {
      unpacker_.group(packed_.out + i, from, write);
    }
  }
  void finish() noexcept {
    V::finish_streams();
    if (packed_.sums != nullptr) *packed_.sums = sums_;
    packed_.all_reduced = packed_.all_reduced && unpacker_.all_right();
  }

 private:
  LimbToUnpack& packed_;
  const std::size_t n_;
  Unpacker<V> unpacker_;
  FastSum::Sums sums_;
};

template <class V, class Limb>
std::size_t expand_steps(Word* out, std::size_t first, std::size_t n, const ChaChaState& state, Word largest,
                         const Prime& p, Limb limb) noexcept {
  FromStream<V> convert(largest, p);
  for (; first < n; first += kExpandStep) {
    alignas(64) Word words[kExpandStep];
    draw_step<V>(words, first, state, [&](std::size_t round) { limb.between(first, round); });
    const std::size_t size = std::min(kExpandStep, n - first);
    for (std::size_t i = 0; i < size; i += V::kWords) {
      Limb::write(out + first + i, convert(V::load_words(words + i)));
    }
    limb.after(first);
    if (!convert.all_right()) {
      n = first;
      break;
    }
  }
  limb.finish();
  return n;
}

template <class V>
std::size_t expand(Word* out, std::size_t first, std::size_t n, const ChaChaState& state, Word largest, const Prime& p,
                   LimbToUnpack* packed) noexcept {
  if (packed == nullptr || packed->count <= first) {
    return expand_steps<V>(out, first, n, state, largest, p, Alone<V>{out, n});
  }
  return expand_steps<V>(out, first, n, state, largest, p, WithPacked<V>(*packed, n, p));
}

}  // namespace
}  // namespace lw::cpu
