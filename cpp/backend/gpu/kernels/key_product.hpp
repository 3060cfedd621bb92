// Inner products of extended digits with both halves of keys.
#pragma once

#include "backend/gpu/kernels/automorphism.hpp"
#include "backend/gpu/kernels/sums.hpp"

namespace lw::gpu {

inline constexpr std::size_t kMostSwitchLimbs = 64;  // of a launch

/// Some target limbs of a key switch that follow each other.
struct SwitchLimbs {
  std::uint32_t first, count;  // places in the target
  std::uint32_t num_special;
  std::uint16_t limb[kMostSwitchLimbs];
  Word special_product[kMostSwitchLimbs];  // P modulo these; not read for special limbs
};

struct KeyPair {
  const Word *b, *a;
};
struct KeyResult {
  Target out;  // over these limbs
  std::uint32_t galois_element;
};

/// Products of transformed digits with keys, in a grid of (parts of a limb, keys, limbs), two words to a thread.
template <class A>
struct KeyProduct : OnePhase {
  static constexpr KernelName kName{A::kName, "key_product"};
  static constexpr std::uint32_t kThreads = kLimbThreads;
  static constexpr std::uint32_t kBlocks = 2;  // 128 registers

  static constexpr std::size_t kMostPairs = 256, kMostKeys = 16;

  struct Args {
    Tables tables;
    std::uint32_t num_digits, rest_polys;
    std::uint32_t has_rest_over_p;
    Source rest;  // over all limbs, or over those that are not special
    SwitchLimbs where;
    KeyResult results[kMostKeys];    // [key]
    const Word* digits[kMostPairs];  // their limbs, [digit][limb]
    KeyPair keys[kMostPairs];        // [key][digit][limb]
  };

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    const std::uint32_t key = place.block[1], limb = place.block[2], count = args.where.count;
    const KeyResult result = args.results[key];
    // The automorphism acts on the result: this thread makes the words that come to its place. Neighbours come from
    // neighbours, in one order or the other.
    const std::uint32_t first = automorphism_index(2 * word_of(place), result.galois_element, args.tables.log_degree);
    const std::uint32_t from = first / 2, is_swapped = first % 2;
    const typename A::Prime prime = args.tables.template prime<A>(args.where.limb[limb]);
    Sums<A, 4> sums(A::sum_limits(prime));  // two of each half
    LW_GPU_UNROLL
    for (std::uint32_t half = 0; half < 2; ++half) begin(sums, half, args, limb, from, prime);
    sums.add(args.num_digits, prime, [&](std::uint32_t d, auto& sum) {
      const KeyPair& pair = args.keys[(key * args.num_digits + d) * count + limb];
      const WordPair x = pairs_of(Global(args.digits[d * count + limb])).load(from);
      const WordPair b = load_once(pairs_of(Global(pair.b)), from), a = load_once(pairs_of(Global(pair.a)), from);
      LW_GPU_UNROLL
      for (std::uint32_t e = 0; e < 2; ++e) {
        const typename A::Value digit = A::from_word(x.word[e]);
        sum[e].add(digit, A::from_word(b.word[e]));
        sum[2 + e].add(digit, A::from_word(a.word[e]));
      }
    });
    LW_GPU_UNROLL
    for (std::uint32_t half = 0; half < 2; ++half) {
      const Word even = A::to_word(sums.value(2 * half, prime)), odd = A::to_word(sums.value(2 * half + 1, prime));
      const WordPair made = {is_swapped != 0 ? odd : even, is_swapped != 0 ? even : odd};
      pairs_of(result.out.limb(half, limb)).store(word_of(place), made);
    }
  }

 private:
  /// Begins the sums with P * rest, or a rest that has its P, where there is one.
  static LW_GPU void begin(Sums<A, 4>& sums, std::uint32_t half, const Args& args, std::uint32_t limb,
                           std::uint32_t from, const typename A::Prime& prime) noexcept {
    const std::uint32_t target = args.where.first + limb;
    const bool is_over_p = args.has_rest_over_p != 0;
    if (half >= args.rest_polys || (!is_over_p && target < args.where.num_special)) return;
    const std::uint32_t at = is_over_p ? target : target - args.where.num_special;
    const WordPair rest = pairs_of(args.rest.limb(half, at)).load(from);
    const typename A::Value special = A::from_word(args.where.special_product[limb]);
    LW_GPU_UNROLL
    for (std::uint32_t e = 0; e < 2; ++e) {
      const typename A::Value value = A::from_word(rest.word[e]);
      sums.begin(2 * half + e, is_over_p ? value : A::mul(value, special, prime));
    }
  }
};

}  // namespace lw::gpu
