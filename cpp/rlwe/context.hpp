// A parameter set brought to life on a backend, and the limb lists everyone asks for.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "ring/ring.hpp"
#include "rlwe/parameters.hpp"

namespace lw {

enum class Basis : std::uint8_t { kQ = 0, kQP = 1 };

/// A stretch of limbs that two limb lists share: limbs [first_in, first_in + count) of the one
/// are limbs [first_out, first_out + count) of the other.
struct LimbRun {
  std::size_t first_in, first_out, count;
};

/// The places of the limbs of `wanted` in `held`, as maximal runs (one run if `wanted` is a prefix).
/// Empty if a wanted limb is not held.
std::vector<LimbRun> find_runs(std::span<const std::uint16_t> held, std::span<const std::uint16_t> wanted);

/// Owns the ring, and for a device with memory of its own a twin on the host: there messages are encoded and read, keys
/// made, and everything done that knows a secret, unless it is of rlwe/device_secrets.hpp. Safe to share between
/// threads.
class Context {
 public:
  /// backend: a name of backend_names(), or "auto". threads: 0 = one per core.
  explicit Context(std::shared_ptr<const Parameters> parameters, std::string_view backend = "auto",
                   unsigned threads = 0, const DeviceOptions& options = {});

  const Parameters& parameters() const noexcept { return *parameters_; }
  const std::shared_ptr<const Parameters>& shared_parameters() const noexcept { return parameters_; }
  const Ring& ring() const noexcept { return ring_; }
  std::uint32_t degree() const noexcept { return parameters_->ring_degree(); }
  /// The twin, or this context where it is on the host itself.
  const Context& host() const noexcept { return host_ == nullptr ? *this : *host_; }
  /// The twin, for who keeps it; nullptr where this context is on the host itself.
  const std::shared_ptr<const Context>& twin() const noexcept { return host_; }

  /// The same residues in the memory of this context, or of its twin: x itself if it is there, else a copy.
  std::shared_ptr<const RnsPolys> here(std::shared_ptr<const RnsPolys> x) const;
  std::shared_ptr<const RnsPolys> on_host(std::shared_ptr<const RnsPolys> x) const;

  /// Limbs of a value: Q limbs ascending, over QP after the P limbs. Throws lw::Error(kLevel) if there is no such
  /// level.
  LimbList limbs(Level level, Basis basis) const;

 private:
  std::shared_ptr<const Parameters> parameters_;
  Ring ring_;
  std::shared_ptr<const Context> host_;  // none on the host
};

/// Limbs of one context as limbs of another one with the same parameters. Limbs keep their copies, unless they are not
/// to: both stay true.
std::shared_ptr<const RnsPolys> move_to_context(const Context& from, std::shared_ptr<const RnsPolys> x,
                                                const Context& to, bool keeps_copy = true);

}  // namespace lw
