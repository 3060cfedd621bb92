// Kernels that the tests of the simulator launch: some are right, and some have the one fault that their name says.
// Arguments are words each.
#pragma once

#include <cstdint>

#include "backend/gpu/host_kernel.hpp"
#include "backend/gpu/phase.hpp"

namespace lw::planted {

using Word = std::uint64_t;
using Words = gpu::Global<Word>;

inline std::size_t index_of(const gpu::Place& at) { return std::size_t{at.block[0]} * at.threads + at.thread; }

/// The common base of kernels of one phase without registers.
struct WithoutBarriers {
  static constexpr std::uint32_t kThreads = 256;
  struct Registers {};
  template <class Args>
  static std::uint32_t phases(const Args&) {
    return 1;
  }
};

/// out[i] = value.
struct Fill : WithoutBarriers {
  static constexpr char kName[] = "fill";
  struct Args {
    Words out;
    Word count, value;
  };
  static void run(std::uint32_t, const Args& a, const gpu::Place& at, gpu::Shared, Registers&) {
    if (const std::size_t i = index_of(at); i < a.count) a.out.store(i, a.value);
  }
};

/// out[i] = left[i] + right[i].
struct Add : WithoutBarriers {
  static constexpr char kName[] = "add";
  struct Args {
    Words out;
    gpu::Global<const Word> left, right;
    Word count;
  };
  static void run(std::uint32_t, const Args& a, const gpu::Place& at, gpu::Shared, Registers&) {
    if (const std::size_t i = index_of(at); i < a.count) a.out.store(i, a.left.load(i) + a.right.load(i));
  }
};

/// Adds 1 to the words from `out`, each of which is read and written by 1, 2, 4 or 16 `bytes`.
struct Increment : WithoutBarriers {
  static constexpr char kName[] = "increment";
  struct Args {
    Words out;
    Word count, bytes;
  };
  struct Pair {
    Word low, high;
  };
  template <class T>
  static void add_one(const Args& a, std::size_t i) {
    const gpu::Global<T> out(reinterpret_cast<T*>(a.out.address()));
    out.store(i, static_cast<T>(out.load(i) + 1));
  }
  static void run(std::uint32_t, const Args& a, const gpu::Place& at, gpu::Shared, Registers&) {
    const std::size_t i = index_of(at);
    if (i >= a.count) return;
    if (a.bytes == 1) add_one<std::uint8_t>(a, i);
    if (a.bytes == 2) add_one<std::uint16_t>(a, i);
    if (a.bytes == 4) add_one<std::uint32_t>(a, i);
    if (a.bytes == 16) {
      const gpu::Global<Pair> out(reinterpret_cast<Pair*>(a.out.address()));
      const Pair pair = out.load(i);
      out.store(i, {pair.low + 1, pair.high + 1});
    }
  }
};

/// out[b] = the sum of what the threads of block b find in `in`: halves are added through shared memory, and the
/// number of threads is a power of two. Without `barriers` all of it is one phase.
template <bool barriers>
struct Sum {
  static constexpr char kName[] = "sum";
  static constexpr std::uint32_t kThreads = 256;
  struct Args {
    Words out;
    gpu::Global<const Word> in;
    Word threads;
  };
  struct Registers {
    Word mine;
  };
  static std::uint32_t steps(const Args& a) {
    std::uint32_t steps = 0;
    while (Word{1} << steps < a.threads) ++steps;
    return steps + 1;
  }
  static std::uint32_t phases(const Args& a) { return barriers ? steps(a) : 1; }
  static void step(std::uint32_t step, const Args& a, const gpu::Place& at, gpu::Shared shared, Registers& r) {
    const std::size_t half = a.threads >> step;
    if (step == 0) {
      r.mine = a.in.load(index_of(at));
    } else if (at.thread < half) {
      r.mine += shared.load(at.thread + half);
    }
    if (at.thread < half) shared.store(at.thread, r.mine);
    if (half == 1 && at.thread == 0) a.out.store(at.block[0], r.mine);
  }
  static void run(std::uint32_t phase, const Args& a, const gpu::Place& at, gpu::Shared shared, Registers& r) {
    if (barriers) return step(phase, a, at, shared, r);
    for (std::uint32_t i = 0; i < steps(a); ++i) step(i, a, at, shared, r);
  }
};

struct SumWithoutBarriers : Sum<false> {
  static constexpr char kName[] = "sum_without_barriers";
};

/// Each thread stores its number in word thread * `stride` of shared memory and reads it back; without `store` it
/// reads only.
struct Keep : WithoutBarriers {
  static constexpr char kName[] = "keep";
  struct Args {
    Words out;
    Word stride, store;
  };
  static void run(std::uint32_t, const Args& a, const gpu::Place& at, gpu::Shared shared, Registers&) {
    const std::size_t i = at.thread * a.stride;
    if (a.store != 0) shared.store(i, index_of(at));
    a.out.store(index_of(at), shared.load(i));
  }
};

/// All threads read word `read` of shared memory, which thread 0 stored in the phase before, and one of them stores to
/// it: in the phase after, or in the `same` one.
struct Overwrite {
  static constexpr char kName[] = "overwrite";
  static constexpr std::uint32_t kThreads = 256;
  struct Args {
    Words out;
    Word same;
  };
  struct Registers {};
  static std::uint32_t phases(const Args&) { return 3; }
  static void run(std::uint32_t phase, const Args& a, const gpu::Place& at, gpu::Shared shared, Registers&) {
    if (phase == 0 && at.thread == 0) shared.store(0, 7);
    if (phase == 1) a.out.store(index_of(at), shared.load(0));
    if (phase == (a.same != 0 ? 1u : 2u) && at.thread == at.threads / 2) shared.store(0, 8);
  }
};

/// All threads write word 0, with a shout or with stores.
struct OneWord : WithoutBarriers {
  static constexpr char kName[] = "one_word";
  struct Args {
    Words out;
    Word shout;
  };
  static void run(std::uint32_t, const Args& a, const gpu::Place&, gpu::Shared, Registers&) {
    a.shout != 0 ? a.out.shout(0, 1) : a.out.store(0, 1);
  }
};

/// Each thread adds 1 to its word and reads the word of the thread `ahead`, in a phase of its own if there are two
/// `phases`.
struct Neighbour {
  static constexpr char kName[] = "neighbour";
  static constexpr std::uint32_t kThreads = 256;
  struct Args {
    Words words, out;
    Word ahead, count, phases;
  };
  struct Registers {};
  static std::uint32_t phases(const Args& a) { return static_cast<std::uint32_t>(a.phases); }
  static void run(std::uint32_t phase, const Args& a, const gpu::Place& at, gpu::Shared, Registers&) {
    const std::size_t i = index_of(at);
    if (phase == 0) a.words.store(i, a.words.load(i) + 1);
    if (phase + 1 == a.phases) a.out.store(i, a.words.load((i + a.ahead) % a.count));
  }
};

/// out[i] = the number of the thread that differs from this one in `bits`, as a lane gave it. Of the wrong ones, 1 says
/// nothing of an exchange, and odd threads give nothing in 2 and take nothing in 3.
struct Exchange {
  static constexpr char kName[] = "exchange";
  static constexpr std::uint32_t kThreads = 256;
  struct Args {
    Words out;
    Word bits, wrong;
  };
  struct Registers {
    gpu::WarpLanes lanes;
  };
  static std::uint32_t phases(const Args&) { return 2; }
  static bool is_exchange(std::uint32_t phase, const Args& a) { return phase == 1 && a.wrong != 1; }
  static void run(std::uint32_t phase, const Args& a, const gpu::Place& at, gpu::Shared, Registers& r) {
    const bool is_odd = at.thread % 2 != 0;
    if (phase == 0 && !(is_odd && a.wrong == 2)) r.lanes.give(at.thread);
    if (phase == 1 && !(is_odd && a.wrong == 3)) {
      a.out.store(index_of(at), r.lanes.take(at, static_cast<std::uint32_t>(a.bits)));
    }
  }
};

/// out[i] = what the same thread of a block of the cluster stored in its shared memory: of the one `ahead`, or if that
/// is no block of the cluster, of number `ahead`. In a phase of its own if there are two `phases`.
struct ClusterNeighbour {
  static constexpr char kName[] = "cluster_neighbour";
  static constexpr std::uint32_t kThreads = 256, kCluster = 4;
  struct Args {
    Words out;
    Word ahead, phases;
  };
  struct Registers {};
  static std::uint32_t phases(const Args& a) { return static_cast<std::uint32_t>(a.phases); }
  static void run(std::uint32_t phase, const Args& a, const gpu::Place& at, gpu::Shared shared, Registers&) {
    const auto ahead = static_cast<std::uint32_t>(a.ahead);
    const std::uint32_t rank = ahead < kCluster ? (at.block[0] + ahead) % kCluster : ahead;
    if (phase == 0) shared.store(at.thread, index_of(at));
    if (phase + 1 == a.phases) a.out.store(index_of(at), shared.of(rank).load(at.thread));
  }
};

template <class... K>
struct PlantedList {
  static constexpr gpu::HostKernel kAll[] = {gpu::host_kernel<K>()...};
};
using All = PlantedList<Fill, Add, Increment, Sum<true>, SumWithoutBarriers, Keep, Overwrite, OneWord, Neighbour,
                        Exchange, ClusterNeighbour>;

}  // namespace lw::planted
