// Drivers that come in libraries of their own.
#pragma once

#include <string>
#include <string_view>

#include "backend/gpu/driver.h"

namespace lw::gpu {

/// A kind of devices, whose driver is in the library of a package.
struct DriverKind {
  std::string_view name, package;
};
inline constexpr DriverKind kDriverKinds[] = {
    {"cuda", "latticework-cuda"}, {"sycl:cpu", "latticework-sycl"}, {"sycl:gpu", "latticework-sycl"}};

/// The driver of a kind in a library that has `latticework_driver`; the library stays loaded. Throws lw::Error(kDevice)
/// if it cannot be loaded, has no driver of this kind, or was made for another version of the table or other kernels
/// than this library; lw::Error(kValue) for what is no kind.
const LwDriver& load_driver(const std::string& path, const std::string& kind);

/// The driver of a kind that was loaded last, or nullptr.
const LwDriver* current_driver(std::string_view kind) noexcept;
/// The same; throws lw::Error(kDevice), which says what is to be installed, where there is none.
const LwDriver& loaded_driver(std::string_view kind);

}  // namespace lw::gpu
