// Residues of small random integers, and of messages with them: the distributions of rlwe/sampling.hpp, word for word.
#pragma once

#include <bit>

#include "backend/gpu/kernels/limbs.hpp"
#include "backend/gpu/kernels/stream_words.hpp"

namespace lw::gpu {

/// The bits of a word that are 1.
LW_GPU std::int64_t count_ones(std::uint64_t word) noexcept {
#if defined(__CUDA_ARCH__)
  return __popcll(word);
#else
  return std::popcount(word);
#endif
}

/// What residues are made of: the integers of a message alone, these with an error, a ternary mask, or what is to be
/// taken from a product before it is divided by a special prime.
enum class Sample : std::uint32_t { kNothing, kError, kTernary, kRemainder };

/// In a grid of (parts of a limb, 1, polys); each thread writes its words for all limbs, so that no stream is drawn
/// twice.
template <class A>
struct SampledResidues : KeystreamWords {
  static constexpr KernelName kName{A::kName, "sampled_residues"};

  struct Args {
    Tables tables;
    Target out;
    Global<const Word> integers;   // [poly][integers_step] signed; those of a poly are 2^log_gap apart
    Global<const StreamKey> keys;  // [item][keys_step], of `polys_each` polys one after the other
    Source products;               // one limb a poly: of special_limb, in coefficient form
    Sample sample;
    std::uint32_t integers_step, log_gap, keys_step, polys_each, special_limb, num_limbs;
    LimbNumbers limbs;
  };
  static constexpr std::uint32_t kNoSpecial = ~0u;

  static LW_GPU std::uint32_t phases(const Args&) noexcept { return 2; }

  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers&) noexcept {
    const std::uint32_t poly = place.block[2];
    if (phase == 0) {
      if (args.sample == Sample::kNothing) return;
      const std::uint32_t key = poly / args.polys_each * args.keys_step + poly % args.polys_each;
      return draw(args.keys.load(key), place, shared);
    }
    for (std::uint32_t w = place.thread; w < kBlockWords * place.threads; w += place.threads) {
      const std::uint32_t i = first_block(place) * kBlockWords + w;
      const std::uint64_t drawn = args.sample == Sample::kNothing ? 0 : word(w, place, shared);
      const std::int64_t integer = integer_at(args, poly, i, drawn);
      for (std::uint32_t j = 0; j < args.num_limbs; ++j) {
        const typename A::Prime prime = args.tables.template prime<A>(args.limbs.number[j]);
        args.out.limb(poly, j).store(i, A::to_word(A::from_canonical(prime.from_signed(integer), prime)));
      }
    }
  }

 private:
  /// Centred binomial with 21 pairs.
  static LW_GPU std::int64_t error_of(std::uint64_t drawn) noexcept {
    constexpr std::uint64_t kMask = (1u << 21) - 1;
    return count_ones(drawn & kMask) - count_ones(drawn >> 21 & kMask);
  }
  static LW_GPU std::int64_t integer_at(const Args& args, std::uint32_t poly, std::uint32_t i,
                                        std::uint64_t drawn) noexcept {
    if (args.sample == Sample::kTernary) return static_cast<std::int64_t>(mul_high(drawn, 3)) - 1;
    if (args.sample == Sample::kRemainder) return remainder_at(args, poly, i, error_of(drawn));
    std::int64_t integer = args.sample == Sample::kError ? error_of(drawn) : 0;
    const std::uint32_t k = i >> args.log_gap;
    if (args.integers_step != 0 && k << args.log_gap == i) {
      integer += static_cast<std::int64_t>(args.integers.load(std::size_t{poly} * args.integers_step + k));
    }
    return integer;
  }
  /// The product modulo the special prime for which product + error is nearest to zero; see rlwe/encryptor.cpp.
  static LW_GPU std::int64_t remainder_at(const Args& args, std::uint32_t poly, std::uint32_t i,
                                          std::int64_t error) noexcept {
    if (args.special_limb == kNoSpecial) return -error;
    const typename A::Prime prime = args.tables.template prime<A>(args.special_limb);
    const std::uint64_t product = A::to_canonical(A::from_word(args.products.limb(poly, 0).load(i)), prime);
    const std::int64_t taken = static_cast<std::int64_t>(product), p = static_cast<std::int64_t>(prime.value);
    return taken - (p & (p / 2 - (taken + error)) >> 63);  // all ones or none: no branch
  }
};

}  // namespace lw::gpu
