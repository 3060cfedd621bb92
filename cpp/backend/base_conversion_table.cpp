#include <atomic>

#include "backend/kernels.hpp"

namespace lw {

std::uint64_t new_table_number() noexcept {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace lw
