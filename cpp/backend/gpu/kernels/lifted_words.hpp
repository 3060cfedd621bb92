// Base conversion of a few coefficients by one thread: they are split into parts, one for each source limb, and parts
// are joined modulo target limbs. kernels.hpp defines the sums.
#pragma once

#include "backend/gpu/kernels/rows.hpp"

namespace lw::gpu {

inline constexpr std::size_t kMostJobs = 32;  // of a launch

/// What one base conversion makes for some of its target limbs that follow each other.
struct LiftJob {
  DeviceLift table;
  Source in;                   // whose rows are those of the source limbs, in their order
  std::uint32_t first, count;  // targets
  std::uint32_t row;           // of the first one's result
};
/// Several of them, in the last direction of a grid: (tiles, targets or groups of them, jobs of each poly).
struct LiftJobs {
  LiftJob job[kMostJobs];
  std::uint32_t count;

  LW_GPU const LiftJob& of(const Place& place) const noexcept { return job[place.block[2] % count]; }
  LW_GPU std::uint32_t poly(const Place& place) const noexcept { return place.block[2] / count; }
};

/// A thread's side of a job. Words go by a few at once, so that what is the same for all of them is loaded once.
template <class A>
class LiftedWords {
 public:
  using Value = typename A::Value;
  using Prime = typename A::Prime;
  static constexpr std::uint32_t kAtOnce = 2;  // at most

  LW_GPU LiftedWords(const Tables& tables, const LiftJob& job, std::uint32_t poly) noexcept
      : tables_(tables), job_(job), poly_(poly) {}

  LW_GPU std::uint32_t limb(std::uint32_t t) const noexcept {
    return static_cast<std::uint32_t>(job_.table.template targets<A>().load(t).limb);
  }

  /// each(part, values) for all parts of the words at place(i) of a row: one for each source limb, and how often the
  /// product of all source primes is too much in their sum.
  template <class PlaceOf, class Each>
  LW_GPU void split(const PlaceOf& place, const Each& each) const noexcept {
    typename A::LiftParts parts[kAtOnce];
    Value y[kAtOnce];
    for (std::uint32_t j = 0; j < job_.table.num_from; ++j) {
      const LiftSource<A> source = job_.table.template sources<A>().load(j);
      const Prime prime = tables_.template prime<A>(static_cast<std::uint32_t>(source.limb));
      const Global<const Word> row = job_.in.row(poly_, j);
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < kAtOnce; ++i) {
        y[i] = parts[i].part(A::from_word(row.load(place(i))), source.inverse, source.reciprocal, prime);
      }
      each(j, y);
    }
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < kAtOnce; ++i) y[i] = parts[i].multiples();
    each(job_.table.num_from, y);
  }

  /// The sum of all parts of kWords words modulo target t: part(number, i) is one of word i.
  template <std::uint32_t kWords, class PartOf>
  LW_GPU void join(Value* out, std::uint32_t t, const Prime& prime, const PartOf& part) const noexcept {
    Sums<kWords> sums(*this, t);
    for (std::uint32_t j = 0; j <= job_.table.num_from; ++j) {
      const Value weight = sums.weight(*this, j);
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < kWords; ++i) sums.add(i, part(j, i), weight, prime);
    }
    sums.store(out, prime);
  }

  /// Splits and joins for one target, where parts are kept nowhere.
  template <class PlaceOf>
  LW_GPU void lift(Value* out, std::uint32_t t, const Prime& prime, const PlaceOf& place) const noexcept {
    Sums<kAtOnce> sums(*this, t);
    split(place, [&](std::uint32_t j, const Value(&y)[kAtOnce]) {
      const Value weight = sums.weight(*this, j);
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < kAtOnce; ++i) sums.add(i, y[i], weight, prime);
    });
    sums.store(out, prime);
  }

 private:
  template <std::uint32_t kWords>
  struct Sums {
    using Sum = typename A::Sum;

    LW_GPU Sums(const LiftedWords& lifted, std::uint32_t number) noexcept
        : t(number), target(lifted.job_.table.template targets<A>().load(number)) {
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < kWords; ++i) of_word[i] = Sum(target.sums, A::zero());
    }
    LW_GPU Value weight(const LiftedWords& lifted, std::uint32_t part) const noexcept {
      const DeviceLift& table = lifted.job_.table;
      if (part == table.num_from) return target.minus_total;
      return A::from_word((table.template weights<A>() + t * table.num_from).load(part));
    }
    LW_GPU void add(std::uint32_t i, Value y, Value weight, const Prime& prime) noexcept {
      of_word[i].add(y, weight, target.sums, prime);
    }
    LW_GPU void store(Value* out, const Prime& prime) const noexcept {
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < kWords; ++i) out[i] = of_word[i].value(target.sums, prime);
    }

    const std::uint32_t t;
    const LiftTarget<A> target;
    Sum of_word[kWords];
  };

  const Tables& tables_;
  const LiftJob& job_;
  const std::uint32_t poly_;
};

}  // namespace lw::gpu
