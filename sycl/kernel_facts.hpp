// What the host knows of each kernel of the list, and which are compiled together.
#pragma once

#include <cstdint>
#include <string_view>

#include "backend/gpu/kernel_list.hpp"

namespace lw::gpu {

/// In groups, as reading the headers takes as long as four kernels do: what ciphertexts need of each arithmetic, the
/// other forms of transforms with it, and the rest.
enum class KernelGroup : std::uint32_t { kFp64, kFp64Forms, kU64, kU64Forms, kOthers };

constexpr KernelGroup group_of(std::string_view name) noexcept {
  const bool is_fp64 = name.starts_with("fp64_");
  if (!is_fp64 && !name.starts_with("u64_")) return KernelGroup::kOthers;
  for (const std::string_view form : {"_stage", "_lanes", "_cluster", "_radix2", "_radix4", "_radix16"}) {
    if (name.find(form) != name.npos) return is_fp64 ? KernelGroup::kFp64Forms : KernelGroup::kU64Forms;
  }
  return is_fp64 ? KernelGroup::kFp64 : KernelGroup::kU64;
}

/// exchanges: whether its threads exchange words in warps.
template <class K>
inline constexpr bool kExchanges = requires(const typename K::Args& args) { K::is_exchange(0u, args); };

template <class List>
struct KernelFacts;
template <class... K>
struct KernelFacts<KernelList<K...>> {
  static constexpr std::uint32_t kSize = sizeof...(K);
  static constexpr const char* kNames[] = {K::kName...};
  static constexpr std::uint32_t kArgsBytes[] = {sizeof(typename K::Args)...};
  static constexpr bool kHasClusters[] = {(kClusterOf<K> > 1)...};
  static constexpr bool kHasLanes[] = {kExchanges<K>...};
  static constexpr KernelGroup kGroups[] = {group_of(static_cast<const char*>(K::kName))...};
};
using Facts = KernelFacts<AllKernels>;

}  // namespace lw::gpu
