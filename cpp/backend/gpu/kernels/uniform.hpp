// Keys of streams, and uniform residues from keystreams.
#pragma once

#include "backend/gpu/kernels/limbs.hpp"
#include "backend/gpu/kernels/stream_words.hpp"

namespace lw::gpu {

/// Which of the seeds of an item names a stream, with the fields of its name that differ between streams.
struct StreamChoice {
  std::uint32_t seed, domain, digit, limb;
};
inline constexpr std::size_t kMaxStreams = kMaxLimbs + 4;  // of an item

/// The keys of the same streams of many items, a thread each.
struct StreamKeys : OnePhase {
  static constexpr char kName[] = "stream_keys";
  static constexpr std::uint32_t kThreads = 64;

  struct Args {
    Global<const StreamKey> seeds;  // [item][seed]
    Global<StreamKey> keys;         // [item][stream]
    std::uint32_t items, num_seeds, num_streams;
    StreamChoice streams[kMaxStreams];
  };

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    const std::uint32_t i = word_of(place), item = i / args.num_streams;
    if (item >= args.items) return;
    const StreamChoice stream = args.streams[i % args.num_streams];
    const StreamKey seed = args.seeds.load(item * args.num_seeds + stream.seed);
    args.keys.store(i, KeyHash({seed, {stream.domain, 0, 0, stream.digit}}, stream.limb, 0).key());
  }
};

/// Uniform residues, for each poly from a seed of its own. In a grid of (parts of a limb, limbs, polys).
template <class A>
struct ExpandUniform : KeystreamWords {
  static constexpr KernelName kName{A::kName, "expand_uniform"};

  struct Args {
    Tables tables;
    Target out;
    Global<const StreamKey> keys;         // of round 0, for each limb
    Global<const StreamKey> seeds;        // one
    std::uint32_t keys_step, seeds_step;  // to those of the next poly
    std::uint32_t name[4];                // domain, object (two words), digit
    LimbNumbers limbs;
  };

  static LW_GPU std::uint32_t phases(const Args&) noexcept { return 2; }

  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers&) noexcept {
    const std::uint32_t j = place.block[1], poly = place.block[2], first = first_block(place);
    if (phase == 0) return draw(args.keys.load(poly * args.keys_step + j), place, shared);
    const std::uint32_t limb = args.limbs.number[j];
    const typename A::Prime prime = args.tables.template prime<A>(limb);
    const Global<Word> out = args.out.limb(poly, j);
    for (std::uint32_t w = place.thread; w < kBlockWords * place.threads; w += place.threads) {
      Word drawn = word(w, place, shared);
      for (std::uint32_t round = 1; drawn > prime.largest_word; ++round) {
        drawn = word_of_round(args, poly, limb, round, first + w / kBlockWords, w % kBlockWords);
      }
      out.store(first * kBlockWords + w, A::to_word(A::from_canonical(prime.reduce(drawn), prime)));
    }
  }

 private:
  static LW_GPU Word word_of_round(const Args& args, std::uint32_t poly, std::uint32_t limb, std::uint32_t round,
                                   std::uint32_t counter, std::uint32_t wanted) noexcept {
    const StreamFields fields = {args.seeds.load(poly * args.seeds_step),
                                 {args.name[0], args.name[1], args.name[2], args.name[3]}};
    const ChaChaBlock block(KeyHash(fields, limb, round).key(), counter);
    Word word = 0;
    LW_GPU_UNROLL
    for (std::uint32_t k = 0; k < kBlockWords; ++k) {  // registers have no addresses
      if (k == wanted) word = word_of_block(block, k);
    }
    return word;
  }
};

}  // namespace lw::gpu
