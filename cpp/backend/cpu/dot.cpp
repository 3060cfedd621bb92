#include <algorithm>

#include "backend/cpu/kernels.hpp"
#include "backend/cpu/queue.hpp"

namespace lw::cpu {

void dot(Queue& q, Rows out, std::span<const ConstRows> a, std::span<const ConstRows> b) noexcept {
  CpuQueue& queue = cpu_queue(q);
  queue.for_rows(out, queue.degree * (1 + a.size() * 3), [&](std::size_t poly, std::size_t j) {
    const Modulus m = queue.moduli[out.limbs[j]];
    Word* z = out.row(poly, j);
    for (std::size_t i = 0; i < queue.degree; ++i) {
      U128 sum = 0;
      for (std::size_t term = 0; term < a.size(); ++term) {
        const Word x = canonical(a[term].row(a[term].polys == 1 ? 0 : poly, j)[i], m.value());
        const Word y = canonical(b[term].row(b[term].polys == 1 ? 0 : poly, j)[i], m.value());
        sum += static_cast<U128>(x) * y;
      }
      z[i] = balanced_word(m.reduce(sum), m.value());
    }
  });
}

}  // namespace lw::cpu
