// Base conversion from a few limbs, whose parts a thread keeps in registers.
#pragma once

#include <cstring>

#include "backend/gpu/kernels/converted_words.hpp"

namespace lw::gpu {

/// Source limbs that a kernel is compiled for; with fewer than these some weights are zero.
inline constexpr std::uint32_t kFewSources = 4, kSomeSources = 8, kMostSources = 10;
LW_GPU constexpr std::uint32_t pad_sources(std::uint32_t sources) noexcept {
  return sources <= kFewSources ? kFewSources : sources <= kSomeSources ? kSomeSources : kMostSources;
}

/// A copy of what is known of the limbs of a job in shared memory, for the targets of a block: from memory each of
/// these would be waited for by all threads, one after the other.
template <class A>
class SharedConversionConstants {
 public:
  LW_GPU SharedConversionConstants(Shared words, std::uint32_t num_sources) noexcept
      : words_(words), num_sources_(num_sources) {}

  static LW_GPU constexpr std::uint32_t words(std::uint32_t sources, std::uint32_t targets) noexcept {
    return sources * kOfSource + targets * (kOfTarget + pad_sources(sources));
  }
  /// A thread's share, for targets [begin, end) of the table.
  LW_GPU void fill(const Tables& tables, const DeviceConversion& table, std::uint32_t begin, std::uint32_t end,
                   const Place& place) const noexcept {
    for (std::uint32_t j = place.thread; j < num_sources_; j += place.threads) {
      const ConversionSource<A> source = table.template sources<A>().load(j);
      put(j * kOfSource, source);
      put(j * kOfSource + words_in<ConversionSource<A>>,
          tables.template prime<A>(static_cast<std::uint32_t>(source.limb)));
    }
    for (std::uint32_t t = place.thread; t < end - begin; t += place.threads) {
      const ConversionTarget<A> target = table.template targets<A>().load(begin + t);
      put(target_at(t), target);
      put(target_at(t) + words_in<ConversionTarget<A>>,
          tables.template prime<A>(static_cast<std::uint32_t>(target.limb)));
    }
    const Global<const Word> weights = table.template weights<A>() + begin * num_sources_;
    const std::uint32_t count = pad_sources(num_sources_);
    for (std::uint32_t i = place.thread; i < (end - begin) * count; i += place.threads) {
      const std::uint32_t t = i / count, j = i % count;
      words_.store(target_at(t) + kOfTarget + j, j < num_sources_ ? weights.load(t * num_sources_ + j) : 0);
    }
  }

  LW_GPU std::uint32_t num_sources() const noexcept { return num_sources_; }
  LW_GPU ConversionSource<A> source(std::uint32_t j) const noexcept { return get<ConversionSource<A>>(j * kOfSource); }
  LW_GPU typename A::Prime source_prime(std::uint32_t j) const noexcept {
    return get<typename A::Prime>(j * kOfSource + words_in<ConversionSource<A>>);
  }
  /// Targets are counted from the first of the block.
  LW_GPU ConversionTarget<A> target(std::uint32_t t) const noexcept { return get<ConversionTarget<A>>(target_at(t)); }
  LW_GPU typename A::Prime target_prime(std::uint32_t t) const noexcept {
    return get<typename A::Prime>(target_at(t) + words_in<ConversionTarget<A>>);
  }
  LW_GPU typename A::Value weight(std::uint32_t t, std::uint32_t j) const noexcept {
    return A::from_word(words_.load(target_at(t) + kOfTarget + j));
  }

 private:
  template <class T>
  static constexpr std::uint32_t words_in = sizeof(T) / sizeof(Word);
  static constexpr std::uint32_t kOfSource = words_in<ConversionSource<A>> + words_in<typename A::Prime>;
  static constexpr std::uint32_t kOfTarget = words_in<ConversionTarget<A>> + words_in<typename A::Prime>;

  LW_GPU std::uint32_t target_at(std::uint32_t t) const noexcept {
    return num_sources_ * kOfSource + t * (kOfTarget + pad_sources(num_sources_));
  }
  template <class T>
  LW_GPU void put(std::uint32_t at, const T& value) const noexcept {
    static_assert(sizeof(T) % sizeof(Word) == 0);
    Word words[words_in<T>];
    std::memcpy(words, &value, sizeof(T));
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < words_in<T>; ++i) words_.store(at + i, words[i]);
  }
  template <class T>
  LW_GPU T get(std::uint32_t at) const noexcept {
    Word words[words_in<T>];
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < words_in<T>; ++i) words[i] = words_.load(at + i);
    T value;
    std::memcpy(&value, words, sizeof(T));
    return value;
  }

  const Shared words_;
  const std::uint32_t num_sources_;
};

/// A thread splits two neighbours, and joins them for all targets of a group, whose sums have room for all parts, in a
/// grid of (parts of a limb, groups, jobs of each poly).
template <class A>
struct BaseConvertLimbs {
  static constexpr KernelName kName{A::kName, "base_convert_limbs"};
  static constexpr std::uint32_t kThreads = kLimbThreads, kBlocks = 3;  // 80 registers
  static constexpr std::uint32_t kPhases = 2;
  struct Registers {};

  struct Args {
    Tables tables;
    ConversionJobs jobs;
    Target out;
    std::uint32_t group;
  };

  static LW_GPU std::uint32_t phases(const Args&) noexcept { return kPhases; }
  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers&) noexcept {
    const ConversionJob& job = args.jobs.of(place);
    const std::uint32_t begin = place.block[1] * args.group;
    const std::uint32_t end = begin + args.group < job.count ? begin + args.group : job.count;
    if (begin >= end) return;
    const SharedConversionConstants<A> constants(shared, job.table.num_from);
    if (phase == 0) {
      constants.fill(args.tables, job.table, job.first + begin, job.first + end, place);
      return;
    }
    switch (pad_sources(constants.num_sources())) {
      case kFewSources:
        return convert<kFewSources>(args, job, constants, place, begin, end);
      case kSomeSources:
        return convert<kSomeSources>(args, job, constants, place, begin, end);
      default:
        return convert<kMostSources>(args, job, constants, place, begin, end);
    }
  }

 private:
  template <std::uint32_t kSources>
  using Parts = typename A::Value[kSources + 1][2];

  template <std::uint32_t kSources>
  static LW_GPU void convert(const Args& args, const ConversionJob& job, const SharedConversionConstants<A>& constants,
                             const Place& place, std::uint32_t begin, std::uint32_t end) noexcept {
    const std::uint32_t poly = args.jobs.poly(place), at = word_of(place);
    Parts<kSources> parts;
    split<kSources>(parts, constants, job.in, poly, at);
    for (std::uint32_t t = 0; t < end - begin; ++t) {
      const ConversionTarget<A> target = constants.target(t);
      const typename A::Prime prime = constants.target_prime(t);
      typename A::Sum sums[2];
      LW_GPU_UNROLL
      for (std::uint32_t e = 0; e < 2; ++e) {
        sums[e] = typename A::Sum(target.sums, A::zero());
        sums[e].add(parts[kSources][e], target.minus_total);
      }
      LW_GPU_UNROLL
      for (std::uint32_t j = 0; j < kSources; ++j) {
        const typename A::Value weight = constants.weight(t, j);
        LW_GPU_UNROLL
        for (std::uint32_t e = 0; e < 2; ++e) sums[e].add(parts[j][e], weight);
      }
      pairs_of(args.out.limb(poly, job.limb + begin + t))
          .store(at, {A::to_word(sums[0].value(target.sums, prime)), A::to_word(sums[1].value(target.sums, prime))});
    }
  }

  template <std::uint32_t kSources>
  static LW_GPU void split(Parts<kSources>& parts, const SharedConversionConstants<A>& constants, const Source& in,
                           std::uint32_t poly, std::uint32_t at) noexcept {
    const std::uint32_t sources = constants.num_sources();
    WordPair x[kSources];
    LW_GPU_UNROLL
    for (std::uint32_t j = 0; j < kSources; ++j) {
      if (j < sources) x[j] = pairs_of(in.limb(poly, j)).load(at);
    }
    typename A::ConversionParts sums[2];
    LW_GPU_UNROLL
    for (std::uint32_t j = 0; j < kSources; ++j) {
      if (j >= sources) {
        parts[j][0] = parts[j][1] = A::zero();
        continue;
      }
      const ConversionSource<A> source = constants.source(j);
      const typename A::Prime prime = constants.source_prime(j);
      LW_GPU_UNROLL
      for (std::uint32_t e = 0; e < 2; ++e) {
        parts[j][e] = sums[e].part(A::from_word(x[j].word[e]), source.inverse, source.reciprocal, prime);
      }
    }
    LW_GPU_UNROLL
    for (std::uint32_t e = 0; e < 2; ++e) parts[kSources][e] = sums[e].multiples();
  }
};

}  // namespace lw::gpu
