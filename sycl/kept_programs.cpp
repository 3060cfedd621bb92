#include "kept_programs.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include "sources.hpp"

extern char** environ;

namespace lw::gpu {
namespace {

constexpr std::string_view kMagic = "latticework kernels 1\n";

/// A number that tells texts apart but for one in 2^64.
std::uint64_t digest(std::string_view text) noexcept {
  std::uint64_t found = 0x9E3779B97F4A7C15u ^ text.size();
  const auto mix = [&](std::uint64_t word) {
    found = (found ^ word) * 0xFF51AFD7ED558CCDu;
    found ^= found >> 32;
  };
  std::size_t i = 0;
  for (; i + sizeof(std::uint64_t) <= text.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + i, sizeof word);
    mix(word);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, text.data() + i, text.size() - i);
  mix(rest);
  return found;
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return std::move(text).str();
}

/// The runtime and the compiler in it, by what is in their files.
std::string compiler() {
  Dl_info found{};
  const auto function = &sycl::platform::get_platforms;
  const void* address = nullptr;
  std::memcpy(&address, &function, sizeof address);
  if (dladdr(address, &found) == 0) throw std::runtime_error("where the runtime of SYCL is cannot be found");
  const std::filesystem::path runtime = std::filesystem::canonical(found.dli_fname);
  std::string text;
  for (const std::filesystem::path& file : {runtime, runtime.parent_path() / "libsycl-jit.so"}) {
    const std::string bytes = content(file);
    text += file.filename().string() + " " + std::to_string(bytes.size()) + " " + std::to_string(digest(bytes)) + "\n";
  }
  return text;
}

/// What code for it may make use of.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string found;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    if (line.starts_with("model name") || line.starts_with("flags")) found += line + "\n";
  }
  return found;
}

/// What the environment tells the compilers.
std::string settings() {
  std::string found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view setting = *entry;
    for (const std::string_view prefix : {"CL_CONFIG_", "SYCL_", "IGC_", "UR_"}) {
      if (setting.starts_with(prefix)) found.append(setting).append("\n");
    }
  }
  return found;
}

std::filesystem::path folder() {
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return std::filesystem::path(cache) / "latticework" / "sycl";
  }
  const char* const home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? std::filesystem::path()
                                          : std::filesystem::path(home) / ".cache" / "latticework" / "sycl";
}

std::string number(std::uint64_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

/// Takes so many bytes, or the text of a number and then so many bytes, off the front; false: there are not so many.
bool take(std::string_view& from, std::uint64_t bytes, std::string_view& taken) noexcept {
  if (from.size() < bytes) return false;
  taken = from.substr(0, bytes);
  from.remove_prefix(bytes);
  return true;
}
bool take_number(std::string_view& from, std::uint64_t& value) noexcept {
  std::string_view taken;
  if (!take(from, sizeof value, taken)) return false;
  std::memcpy(&value, taken.data(), sizeof value);
  return true;
}

/// Whether nobody but this user can have written the file.
bool is_ours(const std::filesystem::path& file) noexcept {
  struct stat found{};
  return stat(file.c_str(), &found) == 0 && found.st_uid == geteuid() && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

KeptPrograms::KeptPrograms(const std::string& source, const std::vector<std::string>& options,
                           const sycl::device& device) {
  namespace info = sycl::info::device;
  for (const std::string& option : options) key_ += option + "\n";
  for (const std::string& fact : {device.get_info<info::name>(), device.get_info<info::driver_version>(),
                                  device.get_info<info::version>(), std::to_string(device.get_info<info::vendor_id>())})
    key_ += fact + "\n";
  static const std::string of_this_machine = compiler() + processor();
  key_ += of_this_machine + settings() + source + sources_text();
  char name[32];
  std::snprintf(name, sizeof name, "%016llx.kernels", static_cast<unsigned long long>(digest(key_)));
  const std::filesystem::path place = folder();
  if (!place.empty()) file_ = place / name;
}

std::vector<std::string> KeptPrograms::read() const {
  if (file_.empty() || !is_ours(file_)) return {};
  const std::string kept = content(file_);
  std::string_view rest = kept, taken;
  std::uint64_t bytes = 0, count = 0, sum = 0;
  if (!take(rest, kMagic.size(), taken) || taken != kMagic) return {};
  if (!take_number(rest, bytes) || !take(rest, bytes, taken) || taken != key_) return {};
  if (!take_number(rest, sum) || sum != digest(rest) || !take_number(rest, count)) return {};
  std::vector<std::string> programs;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!take_number(rest, bytes) || !take(rest, bytes, taken)) return {};
    programs.emplace_back(taken);
  }
  return programs;
}

void KeptPrograms::write(const std::vector<std::string>& programs) const noexcept {
  if (file_.empty()) return;
  const std::filesystem::path unfinished = file_.string() + "." + std::to_string(getpid());
  try {
    std::string code = number(programs.size());
    for (const std::string& program : programs) code += number(program.size()) + program;
    std::filesystem::create_directories(file_.parent_path());
    {
      std::ofstream file(unfinished, std::ios::binary);
      std::filesystem::permissions(unfinished,
                                   std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
      file << kMagic << number(key_.size()) << key_ << number(digest(code)) << code;
      if (!file.flush()) throw std::runtime_error("no room");
    }
    std::filesystem::rename(unfinished, file_);
  } catch (const std::exception&) {  // it is compiled again next time
    std::error_code ignored;
    std::filesystem::remove(unfinished, ignored);
  }
}

}  // namespace lw::gpu
