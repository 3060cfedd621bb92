#include "rlwe/context.hpp"

#include <algorithm>

namespace lw {

std::vector<LimbRun> find_runs(std::span<const std::uint16_t> held, std::span<const std::uint16_t> wanted) {
  std::vector<LimbRun> runs;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto place = std::find(held.begin(), held.end(), wanted[i]);
    if (place == held.end()) return {};
    const std::size_t at = static_cast<std::size_t>(place - held.begin());
    if (!runs.empty() && runs.back().first_in + runs.back().count == at) {
      ++runs.back().count;
    } else {
      runs.push_back({at, i, 1});
    }
  }
  return runs;
}

Context::Context(std::shared_ptr<const Parameters> parameters, std::string_view backend, unsigned threads,
                 const DeviceOptions& options)
    : parameters_(std::move(parameters)),
      ring_(parameters_->ring_degree(), parameters_->primes(), backend, threads, options) {
  if (!ring_.backend().form().is_on_host()) host_ = std::make_shared<const Context>(parameters_, "auto", threads);
}

std::shared_ptr<const RnsPolys> Context::here(std::shared_ptr<const RnsPolys> x) const {
  return host_ == nullptr || x->form() != host_->ring().backend().form() ? x
                                                                         : move_to_context(*host_, std::move(x), *this);
}

std::shared_ptr<const RnsPolys> Context::on_host(std::shared_ptr<const RnsPolys> x) const {
  return host_ == nullptr || x->form() != ring_.backend().form() ? x : move_to_context(*this, std::move(x), *host_);
}

std::shared_ptr<const RnsPolys> move_to_context(const Context& from, std::shared_ptr<const RnsPolys> x,
                                                const Context& to, bool keeps_copy) {
  const ResidueForm wanted = to.ring().backend().form();
  if (x->form() == wanted) return x;
  if (std::shared_ptr<const RnsPolys> known = x->copy_in(wanted)) return known;
  auto made = std::make_shared<const RnsPolys>(copy_of(from.ring(), *x, to.ring()));
  if (keeps_copy) x->keep(made);
  return made;
}

LimbList Context::limbs(Level level, Basis basis) const {
  parameters_->require_level(level);
  if (basis == Basis::kQ) return parameters_->basis(level);
  const LimbList q = parameters_->basis(level);
  LimbList limbs = parameters_->special(q);
  limbs.insert(limbs.end(), q.begin(), q.end());
  return limbs;
}

}  // namespace lw
