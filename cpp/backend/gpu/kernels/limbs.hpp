// Arguments of kernels on limbs: views, limb numbers and scalars; and the word that a thread has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/gpu/phase.hpp"
#include "backend/gpu/tables.hpp"
#include "backend/kernels.hpp"

namespace lw::gpu {

inline constexpr std::size_t kMaxLimbs = 240;       // of a ring
inline constexpr std::uint32_t kLimbThreads = 256;  // of a block, one word each

/// Limbs at device addresses. One poly that serves all has a poly_stride of 0.
template <class T>
struct DeviceLimbs {
  T* base;
  std::size_t stride, poly_stride;

  LW_GPU Global<T> limb(std::size_t poly, std::size_t j) const noexcept {
    return Global<T>(base + poly * poly_stride + j * stride);
  }
};
using Source = DeviceLimbs<const Word>;
using Target = DeviceLimbs<Word>;

/// Two neighbours, the first at an even place of a limb: what a load or a store takes at once.
struct alignas(2 * sizeof(Word)) WordPair {
  Word word[2];
};
LW_GPU Global<const WordPair> pairs_of(Global<const Word> limb) noexcept {
  return Global(reinterpret_cast<const WordPair*>(limb.address()));
}
LW_GPU Global<WordPair> pairs_of(Global<Word> limb) noexcept {
  return Global(reinterpret_cast<WordPair*>(limb.address()));
}

/// Loads of what is not read again soon, so that they drive nothing else out of caches.
LW_GPU Word load_once(Global<const Word> limb, std::size_t i) noexcept {
#if defined(__CUDA_ARCH__)
  return __ldcs(reinterpret_cast<const unsigned long long*>(limb.address() + i));
#else
  return limb.load(i);
#endif
}
LW_GPU WordPair load_once(Global<const WordPair> pairs, std::size_t i) noexcept {
#if defined(__CUDA_ARCH__)
  const ulonglong2 found = __ldcs(reinterpret_cast<const ulonglong2*>(pairs.address() + i));
  return {{found.x, found.y}};
#else
  return pairs.load(i);
#endif
}

/// The number of limb j, in the order of the limbs.
struct LimbNumbers {
  std::uint16_t number[kMaxLimbs];
};
/// One residue at rest for each limb.
struct Scalars {
  Word word[kMaxLimbs];
};

/// Kernels without barriers.
struct OnePhase {
  struct Registers {};
  template <class Args>
  static LW_GPU std::uint32_t phases(const Args&) noexcept {
    return 1;
  }
};

/// The word of a thread, in a grid of (parts of a limb, limbs, polys).
LW_GPU std::uint32_t word_of(const Place& place) noexcept { return place.block[0] * place.threads + place.thread; }

/// A name made of parts, as a constant.
template <std::size_t... kSizes>
class KernelName {
 public:
  constexpr KernelName(const char (&... parts)[kSizes]) noexcept : text_{} {
    std::size_t end = 0;
    const auto append = [&]<std::size_t kSize>(const char (&part)[kSize]) {
      if (end > 0) text_[end++] = '_';
      for (std::size_t i = 0; i + 1 < kSize; ++i) text_[end++] = part[i];
    };
    (append(parts), ...);
  }
  constexpr operator const char*() const noexcept { return text_; }  // NOLINT: it is the name

 private:
  char text_[(kSizes + ...)];
};

}  // namespace lw::gpu
