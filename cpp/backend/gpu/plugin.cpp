#include "backend/gpu/plugin.hpp"

#include <dlfcn.h>
#if __has_include(<elf.h>)
#include <elf.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "backend/gpu/host_kernels.hpp"
#include "math/error.hpp"

namespace lw::gpu {
namespace {

std::atomic<const LwDriver*> loaded[std::size(kDriverKinds)];

/// The place of a kind in kDriverKinds; their number: it is none.
std::size_t place_of(std::string_view kind) noexcept {
  const auto found = std::ranges::find(kDriverKinds, kind, &DriverKind::name);
  return static_cast<std::size_t>(found - std::begin(kDriverKinds));
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::kDevice, path + ": " + why);
}

/// Whether a file ends before what its header says is to be loaded of it: to touch that would end the process.
bool is_cut_off([[maybe_unused]] const std::string& path) {
#if __has_include(<elf.h>)
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return false;  // which dlopen says itself
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return false;
  std::vector<Elf64_Phdr> parts(header.e_phnum);
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  if (!file.read(reinterpret_cast<char*>(parts.data()), static_cast<std::streamsize>(parts.size() * sizeof parts[0])))
    return true;
  file.seekg(0, std::ios::end);
  const auto bytes = static_cast<std::uint64_t>(file.tellg());
  return std::ranges::any_of(parts, [&](const Elf64_Phdr& part) {
    return part.p_type == PT_LOAD && (part.p_offset > bytes || part.p_filesz > bytes - part.p_offset);
  });
#else
  return false;
#endif
}

/// A driver numbers kernels as this library does, and knows their arguments by size alone.
bool has_these_kernels(const LwDriver& driver) {
  const std::span<const HostKernel> kernels = host_kernels();
  if (driver.num_kernels != kernels.size() || driver.kernel_names == nullptr || driver.args_bytes == nullptr)
    return false;
  for (std::uint32_t i = 0; i < driver.num_kernels; ++i) {
    if (std::string_view(driver.kernel_names[i]) != kernels[i].name) return false;
    if (driver.args_bytes[i] != kernels[i].args_bytes) return false;
  }
  return true;
}

}  // namespace

const LwDriver& load_driver(const std::string& path, const std::string& kind) {
  const std::size_t place = place_of(kind);
  if (place == std::size(kDriverKinds)) throw Error(ErrorKind::kValue, "\"" + kind + "\" is no kind of driver");
  if (is_cut_off(path)) refuse(path, "the driver cannot be loaded: the file is cut off; install it again");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    refuse(path, std::string("the driver cannot be loaded: ") + (reason == nullptr ? "no reason given" : reason));
  }
  const auto entry = reinterpret_cast<const LwDriver* (*)(const char*)>(dlsym(library, "latticework_driver"));
  if (entry == nullptr) refuse(path, "this library is no driver: it has no function latticework_driver");
  const LwDriver* const table = entry(kind.c_str());
  if (table == nullptr) refuse(path, "this library has no driver for \"" + kind + "\"");
  const LwDriver& driver = *table;
  if (driver.version != LW_DRIVER_VERSION) {
    refuse(path, "the driver is for version " + std::to_string(driver.version) + " of the table, this library has " +
                     std::to_string(LW_DRIVER_VERSION) + ": install the two from the same release");
  }
  if (!has_these_kernels(driver)) {
    refuse(path, "the driver has other kernels than this library: install the two from the same release");
  }
  loaded[place].store(&driver);
  return driver;
}

const LwDriver* current_driver(std::string_view kind) noexcept {
  const std::size_t place = place_of(kind);
  return place == std::size(kDriverKinds) ? nullptr : loaded[place].load();
}

const LwDriver& loaded_driver(std::string_view kind) {
  if (const LwDriver* const driver = current_driver(kind)) return *driver;
  const std::size_t place = place_of(kind);
  const std::string_view package = place == std::size(kDriverKinds) ? "its package" : kDriverKinds[place].package;
  const std::string_view devices = kind == "sycl:cpu" ? "no device for SYCL" : "no GPU";
  throw Error(ErrorKind::kDevice,
              std::string(devices) + ": " + std::string(package) + ", which has the driver, is not installed");
}

}  // namespace lw::gpu
