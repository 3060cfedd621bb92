// The canonical embedding of many messages at a time: the operations of backend/embedding.cpp on each pair of values in
// the same stages, and so the same bits.
#pragma once

#include <type_traits>

#include "backend/gpu/arithmetic.hpp"
#include "backend/gpu/kernels/limbs.hpp"

namespace lw::gpu {

struct alignas(16) ComplexValue {
  double real, imag;
};

/// One rounded product and one fused multiply-add for each part.
LW_GPU ComplexValue complex_product(ComplexValue a, ComplexValue w) noexcept {
  return {fused_multiply_add(a.real, w.real, -(a.imag * w.imag)), fused_multiply_add(a.real, w.imag, a.imag * w.real)};
}
/// What a stage does with two values, as types: kernels of SYCL call no function by its address.
struct JoinHalves {
  LW_GPU void operator()(ComplexValue& a, ComplexValue& b, ComplexValue w) const noexcept {
    const ComplexValue v = complex_product(b, w);
    b = {a.real - v.real, a.imag - v.imag};
    a = {a.real + v.real, a.imag + v.imag};
  }
};
struct PartHalves {
  LW_GPU void operator()(ComplexValue& a, ComplexValue& b, ComplexValue w) const noexcept {
    const ComplexValue difference = {a.real - b.real, a.imag - b.imag};
    a = {a.real + b.real, a.imag + b.imag};
    b = complex_product(difference, {w.real, -w.imag});
  }
};

/// Values in the reversed order of the bits of their numbers, below 2^bits.
LW_GPU std::uint32_t reversed_index(std::uint32_t i, std::uint32_t bits) noexcept {
  return bits == 0 ? 0 : bit_reverse(i, bits);
}

/// Numbers as they come and go: complex, or their real parts alone.
template <class T>
struct Numbers {
  Global<T> words;
  std::uint32_t is_real;

  LW_GPU ComplexValue load(std::size_t i) const noexcept {
    if (is_real != 0) return {double_of_bits(words.load(i)), 0};
    return Global(reinterpret_cast<const ComplexValue*>(words.address())).load(i);
  }
  LW_GPU void store(std::size_t i, ComplexValue value) const noexcept {
    if (is_real != 0) return words.store(i, bits_of_double(value.real));
    Global(reinterpret_cast<ComplexValue*>(words.address())).store(i, value);
  }
};

inline constexpr std::uint32_t kEmbeddingThreads = 256, kLogEmbeddingTile = 11;

/// One stage in memory: a thread joins or parts two values, 2^log_half from each other. In a grid of (parts of a
/// message, 1, messages).
template <bool kForward>
struct EmbeddingStage : OnePhase {
  static constexpr const char* kName = kForward ? "embed_stage" : "unembed_stage";
  static constexpr std::uint32_t kThreads = kEmbeddingThreads;

  struct Args {
    Numbers<const Word> in;
    Numbers<Word> out;  // may be `in`, if both are complex
    Global<const ComplexValue> roots;
    std::uint32_t log_slots, log_half;
  };

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    const std::uint32_t t = word_of(place), half = 1u << args.log_half, j = t & (half - 1);
    const std::size_t i = (std::size_t{place.block[2]} << args.log_slots) + (2 * (t - j) + j);
    ComplexValue a = args.in.load(i), b = args.in.load(i + half);
    const ComplexValue w = args.roots.load(half + j);
    std::conditional_t<kForward, JoinHalves, PartHalves>()(a, b, w);
    args.out.store(i, a);
    args.out.store(i + half, b);
  }
};

/// The stages within tiles of 2^log_tile values, in shared memory. In a grid of (tiles, 1, messages).
struct EmbeddingTile {
  static constexpr std::uint32_t kThreads = kEmbeddingThreads;
  struct Registers {};

  static constexpr std::uint32_t shared_words(std::uint32_t log_tile) noexcept { return 2u << log_tile; }

 protected:
  static LW_GPU ComplexValue load(Shared shared, std::uint32_t i, std::uint32_t log_tile) noexcept {
    return {double_of_bits(shared.load(i)), double_of_bits(shared.load((1u << log_tile) + i))};
  }
  static LW_GPU void store(Shared shared, std::uint32_t i, std::uint32_t log_tile, ComplexValue value) noexcept {
    shared.store(i, bits_of_double(value.real));
    shared.store((1u << log_tile) + i, bits_of_double(value.imag));
  }
  template <class Change>
  static LW_GPU void run_stage(std::uint32_t log_half, std::uint32_t log_tile, const Place& place, Shared shared,
                               Global<const ComplexValue> roots) noexcept {
    const std::uint32_t half = 1u << log_half;
    for (std::uint32_t t = place.thread; t < 1u << log_tile >> 1; t += place.threads) {
      const std::uint32_t j = t & (half - 1), i = 2 * (t - j) + j;
      ComplexValue a = load(shared, i, log_tile), b = load(shared, i + half, log_tile);
      Change()(a, b, roots.load(half + j));
      store(shared, i, log_tile, a);
      store(shared, i + half, log_tile, b);
    }
  }
};

/// The last stages from slots to coefficients, which are scaled and rounded, in their order: [message][2 slots].
struct UnembedTile : EmbeddingTile {
  static constexpr char kName[] = "unembed_tile";

  struct Args {
    Numbers<const Word> in;
    Global<Word> out;
    Global<const ComplexValue> roots;
    Global<Word> is_wrong;  // 1 is written there for a coefficient that is not below 2^62
    double scale;
    std::uint32_t log_slots, log_tile;
  };

  static LW_GPU std::uint32_t phases(const Args& args) noexcept { return args.log_tile + 2; }

  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers&) noexcept {
    const std::uint32_t log_tile = args.log_tile, first = place.block[0] << log_tile;
    const std::size_t message = std::size_t{place.block[2]} << args.log_slots;
    if (phase > 0 && phase <= log_tile) {
      return run_stage<PartHalves>(log_tile - phase, log_tile, place, shared, args.roots);
    }
    for (std::uint32_t i = place.thread; i < 1u << log_tile; i += place.threads) {
      if (phase == 0) {
        store(shared, i, log_tile, args.in.load(message + first + i));
        continue;
      }
      const ComplexValue value = load(shared, i, log_tile);
      const double count = 1.0 / static_cast<double>(1u << args.log_slots);  // a power of two: exact
      const std::uint32_t k = reversed_index(first + i, args.log_slots);
      store_rounded(args, 2 * message + k, value.real * count);
      store_rounded(args, 2 * message + (1u << args.log_slots) + k, value.imag * count);
    }
  }

 private:
  static LW_GPU void store_rounded(const Args& args, std::size_t i, double x) noexcept {
    const double rounded = nearest(x * args.scale);
    const bool fits = rounded < 0x1p62 && rounded > -0x1p62;  // not of NaN
    if (!fits) args.is_wrong.shout(0, 1);
    args.out.store(i, static_cast<Word>(fits ? static_cast<std::int64_t>(rounded) : 0));
  }
};

/// The first stages from coefficients, in reversed order, to slots.
struct EmbedTile : EmbeddingTile {
  static constexpr char kName[] = "embed_tile";

  struct Args {
    Numbers<const Word> in;
    Numbers<Word> out;
    Global<const ComplexValue> roots;
    std::uint32_t log_slots, log_tile;
  };

  static LW_GPU std::uint32_t phases(const Args& args) noexcept { return args.log_tile + 2; }

  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers&) noexcept {
    const std::uint32_t log_tile = args.log_tile;
    const std::size_t first = (std::size_t{place.block[2]} << args.log_slots) + (place.block[0] << log_tile);
    if (phase > 0 && phase <= log_tile) {
      return run_stage<JoinHalves>(phase - 1, log_tile, place, shared, args.roots);
    }
    for (std::uint32_t i = place.thread; i < 1u << log_tile; i += place.threads) {
      if (phase == 0) {
        store(shared, i, log_tile, args.in.load(first + i));
      } else {
        args.out.store(first + i, load(shared, i, log_tile));
      }
    }
  }
};

}  // namespace lw::gpu
