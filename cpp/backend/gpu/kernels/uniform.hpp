// Uniform residues from keystreams.
#pragma once

#include "backend/gpu/kernels/limbs.hpp"
#include "backend/gpu/kernels/stream_words.hpp"

namespace lw::gpu {

/// A thread draws a block of the first keystream into shared memory; then neighbours take the words in their order. In
/// a grid of (parts of a limb, limbs, polys).
template <class A>
struct ExpandUniform {
  static constexpr KernelName kName{A::kName, "expand_uniform"};
  static constexpr std::uint32_t kThreads = 128;
  static constexpr std::uint32_t kBlockWords = 8;  // of a thread
  struct Registers {};

  struct Args {
    Tables tables;
    Target out;
    Global<const StreamKey> keys;  // of round 0, for each limb
    StreamFields name;
    LimbNumbers limbs;
  };

  /// Words k of all blocks lie together; two words between them keep threads that read in order on different banks.
  static LW_GPU std::uint32_t pitch(std::uint32_t threads) noexcept { return threads + 2; }
  static constexpr std::uint32_t shared_words(std::uint32_t threads) noexcept { return kBlockWords * (threads + 2); }

  static LW_GPU std::uint32_t phases(const Args&) noexcept { return 2; }

  static LW_GPU void run(std::uint32_t phase, const Args& args, const Place& place, Shared shared,
                         Registers&) noexcept {
    const std::uint32_t j = place.block[1], first_block = place.block[0] * place.threads;
    if (phase == 0) {
      const ChaChaBlock block(args.keys.load(j), first_block + place.thread);
      LW_GPU_UNROLL
      for (std::uint32_t k = 0; k < kBlockWords; ++k) {
        shared.store(k * pitch(place.threads) + place.thread, word_of_block(block, k));
      }
      return;
    }
    const std::uint32_t limb = args.limbs.number[j];
    const typename A::Prime prime = args.tables.template prime<A>(limb);
    const Global<Word> out = args.out.limb(place.block[2], j);
    for (std::uint32_t w = place.thread; w < kBlockWords * place.threads; w += place.threads) {
      Word word = shared.load(w % kBlockWords * pitch(place.threads) + w / kBlockWords);
      for (std::uint32_t round = 1; word > prime.largest_word; ++round) {
        word = word_of_round(args, limb, round, first_block + w / kBlockWords, w % kBlockWords);
      }
      out.store(first_block * kBlockWords + w, A::to_word(A::from_canonical(prime.reduce(word), prime)));
    }
  }

 private:
  static LW_GPU Word word_of_block(const ChaChaBlock& block, std::uint32_t k) noexcept {
    return std::uint64_t{block.x[2 * k + 1]} << 32 | block.x[2 * k];
  }
  static LW_GPU Word word_of_round(const Args& args, std::uint32_t limb, std::uint32_t round, std::uint32_t counter,
                                   std::uint32_t wanted) noexcept {
    const ChaChaBlock block(KeyHash(args.name, limb, round).key(), counter);
    Word word = 0;
    LW_GPU_UNROLL
    for (std::uint32_t k = 0; k < kBlockWords; ++k) {  // registers have no addresses
      if (k == wanted) word = word_of_block(block, k);
    }
    return word;
  }
};

}  // namespace lw::gpu
