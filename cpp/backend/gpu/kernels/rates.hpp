// Throughput of a device, one resource at a time: kernels that move words, or compute, and little else.
#pragma once

#include "backend/gpu/arithmetic.hpp"
#include "backend/gpu/kernels/limbs.hpp"

namespace lw::gpu {

inline constexpr std::uint32_t kRateWords = 4;   // that a thread copies
inline constexpr std::uint32_t kRateChains = 8;  // of dependent operations in a thread

/// x to out, four words a thread, all of them on their way at once.
struct CopyRate : OnePhase {
  static constexpr char kName[] = "rate_copy";
  static constexpr std::uint32_t kThreads = kLimbThreads;
  struct Args {
    Word* out;
    const Word* x;
  };

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    const std::size_t from = std::size_t{place.block[0]} * place.threads * kRateWords + place.thread;
    const Global<const Word> x(args.x);
    const Global<Word> out(args.out);
    Word word[kRateWords];
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < kRateWords; ++i) word[i] = x.load(from + i * place.threads);
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < kRateWords; ++i) out.store(from + i * place.threads, word[i]);
  }
};

/// Reads all words `rounds` times, each block those of its neighbour in the next round: what the threads of a
/// multiprocessor read is new to them, and comes from the cache that all share where the words fit into it.
struct ReadRate : OnePhase {
  static constexpr char kName[] = "rate_read";
  static constexpr std::uint32_t kThreads = kLimbThreads;
  struct Args {
    Word* out;  // a word for each thread
    const Word* x;
    std::uint32_t rounds, blocks;
  };

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    const Global<const Word> x(args.x);
    Word sum[kRateWords] = {};
    std::uint32_t block = place.block[0];
    for (std::uint32_t round = 0; round < args.rounds; ++round) {
      const std::size_t from = std::size_t{block} * place.threads * kRateWords + place.thread;
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < kRateWords; ++i) sum[i] += x.load(from + i * place.threads);
      block = block + 1 == args.blocks ? 0 : block + 1;
    }
    Global<Word>(args.out).store(word_of(place), sum[0] ^ sum[1] ^ sum[2] ^ sum[3]);
  }
};

/// Chains of x -> factor x + x, each thread `rounds` operations of each of its chains.
template <class Op>
struct ComputeRate : OnePhase {
  static constexpr const char* kName = Op::kName;
  static constexpr std::uint32_t kThreads = kLimbThreads;
  using Value = typename Op::Value;
  struct Args {
    Word* out;  // a word for each thread
    Value factor;
    std::uint32_t rounds;
  };

  static LW_GPU void run(std::uint32_t, const Args& args, const Place& place, Shared, Registers&) noexcept {
    Value x[kRateChains];
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < kRateChains; ++i) x[i] = static_cast<Value>(place.thread + i);
    for (std::uint32_t round = 0; round < args.rounds; ++round) {
      LW_GPU_UNROLL
      for (std::uint32_t i = 0; i < kRateChains; ++i) x[i] = Op::next(x[i], args.factor);
    }
    Value sum = 0;
    LW_GPU_UNROLL
    for (std::uint32_t i = 0; i < kRateChains; ++i) sum += x[i];
    Global<Word>(args.out).store(word_of(place), Op::to_word(sum));
  }
};

/// A fused multiply-add of doubles.
struct FmaOp {
  static constexpr char kName[] = "rate_fma";
  using Value = double;
  static constexpr Value kFactor = -2;  // keeps |x|
  static LW_GPU Value next(Value x, Value factor) noexcept { return fused_multiply_add(x, factor, x); }
  static LW_GPU Word to_word(Value x) noexcept { return bits_of_double(x); }
};
/// The product of two 32-bit words, added to 64 bits.
struct WideMultiplyAddOp {
  static constexpr char kName[] = "rate_multiply_add";
  using Value = std::uint64_t;
  static constexpr Value kFactor = 0x9E3779B9;
  static LW_GPU Value next(Value x, Value factor) noexcept {
    const std::uint32_t a = static_cast<std::uint32_t>(x), b = static_cast<std::uint32_t>(factor);
#if defined(__CUDA_ARCH__)
    asm("mad.wide.u32 %0, %1, %2, %0;" : "+l"(x) : "r"(a), "r"(b));  // from products the compiler makes others
    return x;
#else
    return std::uint64_t{a} * b + x;
#endif
  }
  static LW_GPU Word to_word(Value x) noexcept { return x; }
};

}  // namespace lw::gpu
