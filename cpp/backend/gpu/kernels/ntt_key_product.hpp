// The end of the forward transforms of extended digits with their inner products with keys: transformed digits are
// neither written nor read again.
#pragma once

#include "backend/gpu/kernels/key_product.hpp"
#include "backend/gpu/kernels/ntt.hpp"

namespace lw::gpu {

/// A block has a tile of all digits at a limb, in a grid of (tiles, limbs): it transforms one after the other, each in
/// its own part of shared memory, and then multiplies them with all keys. The automorphism of a key acts where its
/// results go, so Galois elements are given inverted.
template <class A>
struct NttKeyProduct {
  static constexpr KernelName kName{A::kName, "ntt_key_product", Radix8::kName};
  static constexpr std::uint32_t kThreads = Radix8::kThreads;
  static constexpr std::uint32_t kBlocks = A::kArithmetic == Arithmetic::kFp64 ? 2 : 1;  // 64 registers, or 128
  using Tile = FullTile<Radix8>;
  struct Registers {};

  struct Args {
    TileShape shape;
    KeyProductArgs product;
    std::uint32_t num_keys;
  };

  static LW_GPU std::uint32_t phases(const Args& args) noexcept { return args.product.num_digits * kPasses + 1; }

  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers&) noexcept {
    const std::uint32_t d = phase / kPasses, pass = phase % kPasses, number = place.block[1];
    const std::uint32_t limb = args.product.where.limbs.number[number];
    const typename A::Prime prime = args.shape.tables.template prime<A>(limb);
    if (d == args.product.num_digits) return multiply(args, place, shared, prime);
    const DigitRow digit = args.product.digit(d, number);
    if (digit.is_begun == 0) return;
    const TileRows<A, Tile> rows(args.shape, place, shared + d * kTileWords, limb, Global(digit.row), Global<Word>());
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < kPasses; ++i) {  // whose steps are constants
      if (i == pass) run_for_prime<PassOf, A>(typename ButterfliesOf<A, true>::List(), prime, i, rows);
    }
  }

  static constexpr std::uint32_t kTileWords = ntt_shared_words(Radix8::kLogTile);  // of shared memory, of each digit

 private:
  static constexpr std::uint32_t kPasses = Radix8::kLogTile / Radix8::kStages;
  static constexpr std::uint32_t kAtOnce = 2;  // words for which a thread has sums

  template <class, class B>
  struct PassOf {
    static LW_GPU void run(const typename A::Prime& prime, std::uint32_t pass, const TileRows<A, Tile>& rows) noexcept {
      TilePasses<A, B, Radix8, Tile>(rows, prime).forward(pass);
    }
  };

  static LW_GPU void multiply(const Args& args, const Place& place, Shared shared,
                              const typename A::Prime& prime) noexcept {
    for (std::uint32_t k = 0; k < args.num_keys; ++k) {
      for (std::uint32_t first = 0; first < Radix8::kWords; first += kAtOnce) {
        multiply_words(args, place, shared, prime, k, first * kThreads + place.thread);
      }
    }
  }

  /// Words l, l + kThreads, ... of the tile.
  static LW_GPU void multiply_words(const Args& args, const Place& place, Shared shared, const typename A::Prime& prime,
                                    std::uint32_t k, std::uint32_t l) noexcept {
    const KeyProductArgs& product = args.product;
    const std::uint32_t limb = place.block[1], first = (place.block[0] << Radix8::kLogTile) + l;
    const typename A::SumLimits limits = A::sum_limits(prime);
    typename A::Sum b[kAtOnce], a[kAtOnce];
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < kAtOnce; ++i) {
      b[i] = typename A::Sum(limits, product.begin<A>(0, limb, first + i * kThreads, prime));
      a[i] = typename A::Sum(limits, product.begin<A>(1, limb, first + i * kThreads, prime));
    }
    for (std::uint32_t d = 0; d < product.num_digits; ++d) {
      const KeyPair pair = product.key(k, d, limb);
      const DigitRow digit = product.digit(d, limb);
      const Shared tile = shared + (d * kTileWords + shared_place(l));
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < kAtOnce; ++i) {
        const std::uint32_t at = first + i * kThreads;
        const Word word = digit.is_begun != 0 ? tile.load(shared_place(i * kThreads)) : Global(digit.row).load(at);
        const typename A::Value x = A::from_word(word);
        b[i].add(x, A::from_word(Global(pair.b).load(at)), limits, prime);
        a[i].add(x, A::from_word(Global(pair.a).load(at)), limits, prime);
      }
    }
    const KeyResult result = product.results.load(k);
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < kAtOnce; ++i) {
      const std::uint32_t to = turned(first + i * kThreads, result.galois_element, args.shape.tables.log_degree);
      result.out.row(0, limb).store(to, A::to_word(b[i].value(limits, prime)));
      result.out.row(1, limb).store(to, A::to_word(a[i].value(limits, prime)));
    }
  }
};

}  // namespace lw::gpu
