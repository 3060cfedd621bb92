// Inner products of extended digits with both halves of keys.
#pragma once

#include "backend/gpu/kernels/automorphism.hpp"

namespace lw::gpu {

/// Some target limbs of a key switch that follow each other.
struct SwitchLimbs {
  std::uint32_t first, count;  // places in the target
  std::uint32_t num_special;
  LimbNumbers limbs;        // of these
  Scalars special_product;  // P modulo these; not read for special limbs
};

struct DigitRow {
  const Word* row;
  std::uint32_t is_begun;  // the first stages of its transform are done, and not the others
};
struct KeyPair {
  const Word *b, *a;
};
struct KeyResult {
  Target out;  // over these limbs
  std::uint32_t galois_element;
};

struct KeyProductArgs {
  Tables tables;
  std::uint32_t num_digits, rest_polys;
  Global<const DigitRow> digits;    // [digit][limb]
  Global<const KeyPair> keys;       // [key][digit][limb]
  Global<const KeyResult> results;  // [key]
  Source rest;                      // over the limbs that are not special
  SwitchLimbs where;

  LW_GPU DigitRow digit(std::uint32_t d, std::uint32_t limb) const noexcept {
    return digits.load(std::size_t{d} * where.count + limb);
  }
  LW_GPU KeyPair key(std::uint32_t k, std::uint32_t d, std::uint32_t limb) const noexcept {
    return keys.load((std::size_t{k} * num_digits + d) * where.count + limb);
  }
  /// What the sum of half 0 or 1 begins with at word i: P * rest, where there is one.
  template <class A>
  LW_GPU typename A::Value begin(std::uint32_t half, std::uint32_t limb, std::uint32_t i,
                                 const typename A::Prime& prime) const noexcept {
    const std::uint32_t target = where.first + limb;
    if (half >= rest_polys || target < where.num_special) return A::zero();
    const typename A::Value x = A::from_word(rest.row(half, target - where.num_special).load(i));
    return A::mul(x, A::from_word(where.special_product.word[limb]), prime);
  }
};

/// Of digits that are transformed, in a grid of (parts of a row, keys, limbs).
template <class A>
struct KeyProduct : OnePhase {
  static constexpr KernelName kName{A::kName, "key_product"};
  static constexpr std::uint32_t kThreads = kRowThreads;
  using Args = KeyProductArgs;

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    const std::uint32_t key = place.block[1], limb = place.block[2];
    const KeyResult result = args.results.load(key);
    // The automorphism acts on the result: this thread makes the word that comes to its place.
    const std::uint32_t i = turned(word_of(place), result.galois_element, args.tables.log_degree);
    const typename A::Prime prime = args.tables.template prime<A>(args.where.limbs.number[limb]);
    const typename A::SumLimits limits = A::sum_limits(prime);
    typename A::Sum b(limits, args.begin<A>(0, limb, i, prime)), a(limits, args.begin<A>(1, limb, i, prime));
    for (std::uint32_t d = 0; d < args.num_digits; ++d) {
      const KeyPair pair = args.key(key, d, limb);
      const typename A::Value x = A::from_word(Global(args.digit(d, limb).row).load(i));
      b.add(x, A::from_word(Global(pair.b).load(i)), limits, prime);
      a.add(x, A::from_word(Global(pair.a).load(i)), limits, prime);
    }
    result.out.row(0, limb).store(word_of(place), A::to_word(b.value(limits, prime)));
    result.out.row(1, limb).store(word_of(place), A::to_word(a.value(limits, prime)));
  }
};

}  // namespace lw::gpu
