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

/// Into the caches. The lines that the next step writes come near while the keystream is drawn, which needs no memory:
/// to write is to wait for them.
template <class V>
struct NearWrites {
  static void prefetch(Word* line) noexcept { V::prefetch_to_write(line); }
  static void write(Word* to, typename V::F64 x) noexcept { V::store(to, x); }
  static void finish() noexcept {}
};

/// Past them, for limbs that another thread reads later: they take no room there, and no line is read to be
/// overwritten.
template <class V>
struct FarWrites {
  static void prefetch(Word*) noexcept {}
  static void write(Word* to, typename V::F64 x) noexcept { V::stream(to, x); }
  static void finish() noexcept { V::finish_streams(); }
};

/// Words of the keystream from `first` on: as many as a step takes. next: where the next step writes.
template <class V, class Writes>
void draw_step(Word* words, std::size_t first, ChaChaState state, Word* next) noexcept {
  constexpr std::size_t kBlockWords = 8;
  constexpr std::size_t kBlocks = V::kStreamStates * sizeof(typename V::Stream) / sizeof(std::uint32_t);
  constexpr std::size_t kWords = kBlocks * kBlockWords;  // drawn at once
  state[12] += static_cast<std::uint32_t>(first / kBlockWords);
  for (std::size_t i = 0; i < kExpandStep; i += kWords, state[12] += kBlocks) {
    std::uint8_t* const to = reinterpret_cast<std::uint8_t*>(words + i);
    chacha20_blocks<typename V::Stream, V::kStreamStates>(state.data(), to, [&](int round) {
      constexpr std::size_t kEach = kWords / 8;  // words a limb and round: eight rounds of ten
      if (round >= 8) return;
      for (std::size_t j = 0; j < kEach; j += kLineWords) Writes::prefetch(next + i + round * kEach + j);
    });
  }
}

template <class V, class Writes, class Beside>
std::size_t expand_steps(Word* out, std::size_t first, std::size_t n, const ChaChaState& state, Word largest,
                         const Prime& p, const Beside& beside) noexcept {
  FromStream<V> convert(largest, p);
  for (; first < n; first += kExpandStep) {
    alignas(64) Word words[kExpandStep];
    draw_step<V, Writes>(words, first, state, out + (first + 2 * kExpandStep <= n ? first + kExpandStep : 0));
    const std::size_t size = std::min(kExpandStep, n - first);
    for (std::size_t i = 0; i < size; i += V::kWords) {
      Writes::write(out + first + i, convert(V::load_words(words + i)));
    }
    beside(first);
    if (!convert.all_right()) {
      n = first;
      break;
    }
  }
  Writes::finish();
  return n;
}

template <class V>
std::size_t expand(Word* out, std::size_t first, std::size_t n, const ChaChaState& state, Word largest, const Prime& p,
                   LimbToUnpack* packed) noexcept {
  if (packed == nullptr || packed->count <= first) {
    return expand_steps<V, NearWrites<V>>(out, first, n, state, largest, p, [](std::size_t) {});
  }
  Unpacker<V> unpacker(packed->width, p);
  using Writes = FarWrites<V>;
  const std::size_t reached = expand_steps<V, Writes>(out, first, n, state, largest, p, [&](std::size_t start) {
    const std::size_t end = std::min(start + kExpandStep, packed->count);
    const std::byte* from = packed->from + start / 8 * packed->width;
    for (std::size_t i = start; i < end; i += 8, from += packed->width) {
      unpacker.group(packed->out + i, from, Writes::write);
    }
  });
  packed->all_reduced = packed->all_reduced && unpacker.all_right();
  return reached;
}

}  // namespace
}  // namespace lw::cpu
