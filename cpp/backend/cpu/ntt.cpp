#include "backend/cpu/kernels.hpp"
#include "backend/cpu/queue.hpp"

namespace lw::cpu {
namespace {

/// kTransform of every row of `out`.
template <auto kTransform>
void transform(Queue& q, const Rows& out, const ConstRows& x) noexcept {
  CpuQueue& queue = cpu_queue(q);
  queue.for_rows(out, queue.degree * queue.log_degree / 2, [&](std::size_t poly, std::size_t j) {
    (queue.row.*kTransform)(out.row(poly, j), x.row(poly, j), queue.ntt[out.limbs[j]]);
  });
}

}  // namespace

void ntt(Queue& q, Rows out, ConstRows x) noexcept { transform<&RowKernels::ntt>(q, out, x); }

void intt(Queue& q, Rows out, ConstRows x) noexcept { transform<&RowKernels::intt>(q, out, x); }

}  // namespace lw::cpu
