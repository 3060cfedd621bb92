// Machine code of kernels on disk, in the user's folder for caches. A file holds all that its code was made from, and
// is taken only where that is the same to the byte: sources, options, compiler, device, processor and what the
// environment tells the compiler.
#pragma once

#include <filesystem>
#include <string>
#include <sycl/sycl.hpp>
#include <vector>

namespace lw::gpu {

class KeptPrograms {
 public:
  /// source, options: of the compilation, but for where sources_text() lies. Throws std::exception where sources or the
  /// compiler cannot be read.
  KeptPrograms(const std::string& source, const std::vector<std::string>& options, const sycl::device& device);

  /// The code of each program that was kept; nothing where there is none, or it was made from something else, is
  /// damaged, or could have been written by somebody else.
  std::vector<std::string> read() const;
  /// Keeps them, where that can be done.
  void write(const std::vector<std::string>& programs) const noexcept;

 private:
  std::string key_;  // all that the code is made from
  std::filesystem::path file_;
};

}  // namespace lw::gpu
