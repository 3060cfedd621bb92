// Base conversion: a thread splits one coefficient into its parts, kept in its own column of shared memory, and joins
// them modulo some target limbs.
#pragma once

#include "backend/gpu/kernels/limbs.hpp"
#include "backend/gpu/kernels/sums.hpp"

namespace lw::gpu {

inline constexpr std::uint32_t kConversionTargets = 16;           // limbs that one thread joins for
inline constexpr std::uint32_t kConversionSharedWords = 48 << 7;  // 48 KiB

template <class A>
struct BaseConvert : OnePhase {
  static constexpr KernelName kName{A::kName, "base_convert"};
  static constexpr std::uint32_t kThreads = kLimbThreads;

  struct Args {
    Tables tables;
    DeviceConversion table;
    Target out;
    Source in;
    LimbNumbers limbs;           // of `in`, for each source limb
    std::uint32_t first, count;  // targets, to limbs from 0 on
  };

  /// Converts one word of all source limbs to some target limbs, in a grid of (parts of a limb, groups of targets,
  /// polys).
  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared shared, Registers&) noexcept {
    const std::uint32_t i = word_of(place), poly = place.block[2], count = args.table.num_from;
    typename A::ConversionParts parts;
    for (std::uint32_t j = 0; j < count; ++j) {
      const ConversionSource<A> source = args.table.template sources<A>().load(j);
      const typename A::Prime prime = args.tables.template prime<A>(static_cast<std::uint32_t>(source.limb));
      const typename A::Value x = A::from_word(args.in.limb(poly, args.limbs.number[j]).load(i));
      const typename A::Value y = parts.part(x, source.inverse, source.reciprocal, prime);
      shared.store(j * place.threads + place.thread, A::to_word(y));
    }
    const typename A::Value multiples = parts.multiples();

    const std::uint32_t begin = place.block[1] * kConversionTargets;
    const std::uint32_t end = begin + kConversionTargets < args.count ? begin + kConversionTargets : args.count;
    for (std::uint32_t limb = begin; limb < end; ++limb) {
      const std::uint32_t t = args.first + limb;
      const ConversionTarget<A> target = args.table.template targets<A>().load(t);
      const Global<const Word> weights = args.table.template weights<A>() + t * count;
      const typename A::Prime prime = args.tables.template prime<A>(static_cast<std::uint32_t>(target.limb));
      Sums<A, 1> sums(target.sums);
      sums.add(count, prime, [&](std::uint32_t j, auto& sum) {
        const typename A::Value y = A::from_word(shared.load(j * place.threads + place.thread));
        sum[0].add(y, A::from_word(weights.load(j)));
      });
      sums.add(1, prime, [&](std::uint32_t, auto& sum) { sum[0].add(multiples, target.minus_total); });
      args.out.limb(poly, limb).store(i, A::to_word(sums.value(0, prime)));
    }
  }
};

}  // namespace lw::gpu
