// Base conversions of several polynomials at a time, and that of a few coefficients by one thread for one target.
// kernels.def defines the sums.
#pragma once

#include "backend/gpu/kernels/limbs.hpp"
#include "backend/gpu/kernels/sums.hpp"

namespace lw::gpu {

inline constexpr std::size_t kMostJobs = 32;  // of a launch

/// One base conversion to some of its target limbs that follow each other.
struct ConversionJob {
  DeviceConversion table;
  Source in;                   // the source limbs, in their order
  std::uint32_t first, count;  // targets
  std::uint32_t limb;          // of the first one's result
};
/// Several of them, in the last direction of a grid: (tiles, targets or groups of them, jobs of each poly).
struct ConversionJobs {
  ConversionJob job[kMostJobs];
  std::uint32_t count;

  LW_GPU const ConversionJob& of(const Place& place) const noexcept { return job[place.block[2] % count]; }
  LW_GPU std::uint32_t poly(const Place& place) const noexcept { return place.block[2] / count; }
};

/// kWords words of a job for target t, of the words at place(i) of its limbs. They are split into parts, one for each
/// source limb, and how often the product of all source primes is too much in their sum; and joined. Parts are kept
/// nowhere.
template <class A, std::uint32_t kWords, class PlaceOf>
LW_GPU void convert_words(typename A::Value* out, const Tables& tables, const ConversionJob& job, std::uint32_t poly,
                          std::uint32_t t, const typename A::Prime& prime, const PlaceOf& place) noexcept {
  const ConversionTarget<A> target = job.table.template targets<A>().load(t);
  const std::uint32_t sources = job.table.num_from;
  Sums<A, kWords> sums(target.sums);
  typename A::ConversionParts parts[kWords];
  for (std::uint32_t j = 0; j < sources; ++j) {
    const ConversionSource<A> source = job.table.template sources<A>().load(j);
    const typename A::Value weight = A::from_word(job.table.template weights<A>().load(std::size_t{t} * sources + j));
    const typename A::Prime from = tables.template prime<A>(static_cast<std::uint32_t>(source.limb));
    const Global<const Word> limb = job.in.limb(poly, j);
    sums.add(1, prime, [&](std::uint32_t, auto& sum) {
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < kWords; ++i) {
        sum[i].add(parts[i].part(A::from_word(limb.load(place(i))), source.inverse, source.reciprocal, from), weight);
      }
    });
  }
  sums.add(1, prime, [&](std::uint32_t, auto& sum) {
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < kWords; ++i) sum[i].add(parts[i].multiples(), target.minus_total);
  });
  LW_GPU_UNROLL
  for (std::uint32_t i = 0; i < kWords; ++i) out[i] = sums.value(i, prime);
}

}  // namespace lw::gpu
