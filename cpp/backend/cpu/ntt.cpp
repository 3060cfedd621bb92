#include "backend/cpu/kernels.hpp"
#include "backend/cpu/queue.hpp"

namespace lw::cpu {
namespace {

/// kTransform of every limb of `out`.
template <auto kTransform>
void transform(Queue& q, const LimbView& out, const ConstLimbView& x) noexcept {
  CpuQueue& queue = cpu_queue(q);
  queue.for_limbs(out, queue.degree * queue.log_degree / 2, [&](std::size_t poly, std::size_t j) {
    (queue.limb.*kTransform)(out.limb(poly, j), x.limb(poly, j), queue.ntt[out.limbs[j]]);
  });
}

}  // namespace

void ntt(Queue& q, LimbView out, ConstLimbView x) noexcept { transform<&LimbKernels::ntt>(q, out, x); }

void intt(Queue& q, LimbView out, ConstLimbView x) noexcept { transform<&LimbKernels::intt>(q, out, x); }

}  // namespace lw::cpu
