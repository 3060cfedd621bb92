#include "backend/cpu/kernels.hpp"
#include "backend/cpu/queue.hpp"

namespace lw::cpu {

void ntt(Queue& q, Rows x) noexcept {
  CpuQueue& queue = cpu_queue(q);
  queue.for_rows(x, queue.degree * queue.log_degree / 2,
                 [&](std::size_t poly, std::size_t j) { queue.row.ntt(x.row(poly, j), queue.ntt[x.limbs[j]]); });
}

void intt(Queue& q, Rows x) noexcept {
  CpuQueue& queue = cpu_queue(q);
  queue.for_rows(x, queue.degree * queue.log_degree / 2,
                 [&](std::size_t poly, std::size_t j) { queue.row.intt(x.row(poly, j), queue.ntt[x.limbs[j]]); });
}

}  // namespace lw::cpu
