// The form of GPU kernels, which one source gives to device compilers and to the host's: a block of threads goes
// through phases; within a phase no thread reads what another one writes, and between phases all threads meet (a
// barrier).
//
// A kernel is a struct K:
//   static constexpr char kName[];
//   static constexpr std::uint32_t kThreads;   the most threads of a block
//   struct Args;                               trivially copyable, read by all threads
//   struct Registers;                          what a thread keeps from phase to phase
//   static std::uint32_t phases(const Args&);
//   static void run(std::uint32_t phase, const Args&, const Place&, Shared, Registers&);
// Only if some phases begin without a barrier, as the lanes of warps exchange words there (WarpLanes) and nothing
// else,
//   static bool is_exchange(std::uint32_t phase, const Args&);
// only if it is the same for all arguments, so that device compilers unroll the phases,
//   static constexpr std::uint32_t kPhases;
// and, only if so many blocks that are neighbours in the first direction go through the phases together, as a cluster,
// and use each other's shared memory (compute capability 9.0 and later),
//   static constexpr std::uint32_t kCluster;
// or if so many blocks are to have room for their registers on a multiprocessor,
//   static constexpr std::uint32_t kBlocks;
// The functions are LW_GPU. Memory is reached through Global and Shared alone: addresses of a device mean nothing to
// the host, and the simulator watches every access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#if defined(__SYCL_DEVICE_ONLY__)
#include <sycl/sycl.hpp>
#endif

#if defined(__CUDACC__)
#define LW_GPU __host__ __device__ __forceinline__
#define LW_GPU_UNROLL _Pragma("unroll")
#define LW_GPU_UNROLL_BY_4 _Pragma("unroll 4")
#else
#define LW_GPU inline
#define LW_GPU_UNROLL _Pragma("GCC unroll 16")
#define LW_GPU_UNROLL_BY_4
#endif
#if defined(__CUDA_ARCH__) || defined(__SYCL_DEVICE_ONLY__)
#define LW_ON_DEVICE  // what is compiled now runs there
#endif

namespace lw::gpu {

/// The place of a thread: the index of its block in the grid and its index in the block, which has `threads` threads.
struct Place {
  std::uint32_t block[3];
  std::uint32_t thread, threads;  // in its block, and of it
};

#if !defined(LW_ON_DEVICE)

/// Carries out the accesses of a kernel that runs on the host.
class Memory {
 public:
  virtual ~Memory() = default;
  /// The kind of an access. `global` returns where the host has `bytes` at a device's address, which the running thread
  /// reads or writes as an object of this alignment. A `shout` is a write of the same value by any number of threads.
  enum class Access { kRead, kWrite, kShout };
  virtual void* global(const void* address, std::size_t bytes, std::size_t alignment, Access access) noexcept = 0;
  /// Word i of the shared memory of a block of the cluster.
  virtual std::uint64_t* shared(std::uint32_t rank, std::size_t i, Access access) noexcept = 0;
  /// Gives a word to the other threads of the warp; `take` returns what the thread gave whose number differs in `bits`.
  virtual void give(std::uint64_t word) noexcept = 0;
  virtual std::uint64_t take(std::uint32_t bits) noexcept = 0;
};
inline thread_local Memory* memory = nullptr;  // of the kernel that this thread carries out

#endif

/// An array in the memory of a device.
template <class T>
class Global {
 public:
  Global() = default;
  LW_GPU explicit Global(T* address) noexcept : address_(address) {}

  LW_GPU T load(std::size_t i) const noexcept {
#if defined(LW_ON_DEVICE)
    return address_[i];
#else
    return *static_cast<const T*>(memory->global(address_ + i, sizeof(T), alignof(T), Memory::Access::kRead));
#endif
  }
  LW_GPU void store(std::size_t i, T value) const noexcept {
#if defined(LW_ON_DEVICE)
    address_[i] = value;
#else
    *static_cast<T*>(memory->global(address_ + i, sizeof(T), alignof(T), Memory::Access::kWrite)) = value;
#endif
  }
  /// Stores what other threads may store there too.
  LW_GPU void shout(std::size_t i, T value) const noexcept {
#if defined(LW_ON_DEVICE)
    address_[i] = value;
#else
    *static_cast<T*>(memory->global(address_ + i, sizeof(T), alignof(T), Memory::Access::kShout)) = value;
#endif
  }
  LW_GPU Global operator+(std::size_t i) const noexcept { return Global(address_ + i); }
  LW_GPU T* address() const noexcept { return address_; }

 private:
  T* address_ = nullptr;
};

/// The words that a block shares.
class Shared {
 public:
#if defined(LW_ON_DEVICE)
  LW_GPU explicit Shared(std::uint64_t* words) noexcept : words_(words) {}
#else
  explicit Shared(std::uint32_t rank, std::size_t first = 0) noexcept : rank_(rank), first_(first) {}
#endif

  /// The shared words from word i on.
  LW_GPU Shared operator+(std::size_t i) const noexcept {
#if defined(LW_ON_DEVICE)
    return Shared(words_ + i);
#else
    return Shared(rank_, first_ + i);
#endif
  }

  /// The shared words of block `rank` of the cluster. They are there from the second phase to the last.
  LW_GPU Shared of(std::uint32_t rank) const noexcept {
#if !defined(LW_ON_DEVICE)
    return Shared(rank, first_);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    std::uint64_t* words;
    asm("mapa.u64 %0, %1, %2;" : "=l"(words) : "l"(words_), "r"(rank));
    return Shared(words);
#else
    static_cast<void>(rank);
    return *this;
#endif
  }

  LW_GPU std::uint64_t load(std::size_t i) const noexcept {
#if defined(LW_ON_DEVICE)
    return words_[i];
#else
    return *memory->shared(rank_, first_ + i, Memory::Access::kRead);
#endif
  }
  LW_GPU void store(std::size_t i, std::uint64_t value) const noexcept {
#if defined(LW_ON_DEVICE)
    words_[i] = value;
#else
    *memory->shared(rank_, first_ + i, Memory::Access::kWrite) = value;
#endif
  }

 private:
#if defined(LW_ON_DEVICE)
  std::uint64_t* words_;
#else
  std::uint32_t rank_;
  std::size_t first_;
#endif
};

inline constexpr std::uint32_t kWarp = 32;  // threads with neighbouring numbers that exchange words without a barrier

/// A thread's side of an exchange, which is kept in its Registers: in one phase a word is given, and in the next one,
/// which has no barrier before it, all threads of the block take another thread's.
class WarpLanes {
 public:
  LW_GPU void give(std::uint64_t word) noexcept {
#if defined(LW_ON_DEVICE)
    word_ = word;
#else
    memory->give(word);
#endif
  }
  /// Takes the word that the thread of the same warp gave whose number differs in `bits`.
  LW_GPU std::uint64_t take(const Place& place, std::uint32_t bits) const noexcept {
#if defined(__CUDA_ARCH__)
    const std::uint32_t all = place.threads < kWarp ? (1u << place.threads) - 1 : ~0u;
    return __shfl_xor_sync(all, static_cast<unsigned long long>(word_), static_cast<int>(bits));
#elif defined(LW_ON_DEVICE)
    static_cast<void>(place);
    return sycl::permute_group_by_xor(sycl::ext::oneapi::this_work_item::get_sub_group(), word_, bits);
#else
    static_cast<void>(place);
    return memory->take(bits);
#endif
  }

 private:
#if defined(LW_ON_DEVICE)
  std::uint64_t word_;
#endif
};

/// Blocks of a cluster; 1: each is by itself.
template <class K>
inline constexpr std::uint32_t kClusterOf = 1;
template <class K>
  requires requires { K::kCluster; }
inline constexpr std::uint32_t kClusterOf<K> = K::kCluster;

/// Blocks of a multiprocessor; 0: the compiler chooses.
template <class K>
inline constexpr std::uint32_t kBlocksOf = 0;
template <class K>
  requires requires { K::kBlocks; }
inline constexpr std::uint32_t kBlocksOf<K> = K::kBlocks;

/// Whether the threads of a block meet before this phase, or those of a cluster.
template <class K>
LW_GPU bool is_barrier(std::uint32_t phase, const typename K::Args& args) noexcept {
  if constexpr (requires { K::is_exchange(phase, args); }) {
    return !K::is_exchange(phase, args);
  } else {
    return true;
  }
}

/// A list of kernels, each of which has a number in it.
template <class... K>
struct KernelList {
  static constexpr std::uint32_t kSize = sizeof...(K);

  template <class Wanted>
  static constexpr std::uint32_t number() noexcept {
    std::uint32_t number = 0;
    const bool found = ((std::is_same_v<K, Wanted> || (++number, false)) || ...);
    static_assert((std::is_same_v<K, Wanted> || ...), "the kernel is not in the list");
    return found ? number : kSize;
  }
};

}  // namespace lw::gpu
