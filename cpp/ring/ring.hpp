// One polynomial ring Z[X]/(X^N + 1) over a numbered list of primes, on one
// backend: the owner of tables, memory and the queues that everything above uses.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/device.hpp"
#include "backend/kernels.hpp"
#include "math/modulus.hpp"

namespace lw {

using LimbList = std::vector<std::uint16_t>;

class Ring {
 public:
  /// primes by limb number (Q limbs first, then P limbs), each 1 mod 2N, pairwise different, < 2^60.
  /// Throws lw::Error(kValue) naming the offending degree or prime.
  Ring(std::uint32_t ring_degree, std::vector<std::uint64_t> primes, std::string_view backend, unsigned threads,
       const DeviceOptions& options = {});

  std::uint32_t degree() const noexcept { return degree_; }
  std::size_t num_limbs() const noexcept { return moduli_.size(); }
  const Modulus& modulus(std::size_t limb) const noexcept { return moduli_[limb]; }
  /// Words between limbs.
  std::size_t stride() const noexcept { return backend_->limb_stride(); }

  const Kernels& kernels() const noexcept { return backend_->kernels(); }
  Device& device() const noexcept { return backend_->device(); }
  /// The queue of the running scope.
  Queue& queue() const { return backend_->device().queue(running_queue()); }
  Backend& backend() const noexcept { return *backend_; }

  /// The kernels of the same name on the running queue. They throw where anything on it failed, so that nothing is
  /// taken for a result that is none.
  void export_residues(const PackedLimbsOut& canonical, ConstLimbView in) const;
  [[nodiscard]] bool import_residues(LimbView out, const PackedLimbs& canonical) const;
  [[nodiscard]] bool import_seeded(LimbView stored, LimbView expanded, const PackedLimbs& canonical,
                                   const UniformStream& stream, FastSum* sum = nullptr) const;

  /// Constants of the base conversion from limb set `from` (made ascending) to `to`; built once, cached, thread safe.
  const BaseConversionTable& base_conversion_table(std::span<const std::uint16_t> from,
                                                   std::span<const std::uint16_t> to) const;

  /// An integer (signed 128-bit) modulo every limb of a list.
  std::vector<Word> residues(I128 value, std::span<const std::uint16_t> limbs) const;
  /// real + imaginary X^(N/2) in the NTT domain: on both halves of a limb, for each of a list.
  std::vector<Word> half_weights(std::int64_t real, std::int64_t imaginary, std::span<const std::uint16_t> limbs) const;
  /// product(of) mod each limb, and its inverse.
  std::vector<Word> product_mod(std::span<const std::uint16_t> of, std::span<const std::uint16_t> limbs) const;
  std::vector<Word> inverse_product_mod(std::span<const std::uint16_t> of, std::span<const std::uint16_t> limbs) const;

 private:
  Word root_of_minus_one(std::uint16_t limb) const;

  std::uint32_t degree_;
  std::vector<Modulus> moduli_;
  std::unique_ptr<Backend> backend_;
  mutable std::map<std::pair<LimbList, LimbList>, std::unique_ptr<BaseConversionTable>> conversions_;
  mutable std::map<std::uint16_t, Word> roots_;  // psi^(N/2), by limb
};

/// RNS polynomials, words [poly][limb][N] on a ring's device. Uninitialised when made. Move only; prefixes share the
/// memory.
class RnsPolys {
 public:
  RnsPolys() = default;
  RnsPolys(const Ring& ring, LimbList limbs, std::uint32_t polys);
  /// One polynomial that is there already, from a word of read-only memory on.
  RnsPolys(const Ring& ring, LimbList limbs, std::shared_ptr<Buffer> read_only, std::size_t first_word);

  /// The first `count` limbs of every poly: a view that keeps all of the memory.
  RnsPolys prefix(std::size_t count) const;
  /// Polys [first, first + count): a view that keeps all of the memory.
  RnsPolys part(std::uint32_t first, std::uint32_t count) const;
  /// Whether no other RnsPolys shares the memory, so that it may be written.
  bool is_sole_owner() const noexcept { return buffer_.use_count() == 1 && !buffer_->is_read_only(); }

  const LimbList& limbs() const noexcept { return *limbs_; }
  std::uint32_t polys() const noexcept { return polys_; }
  /// Bytes of these limbs, in whichever memory.
  std::size_t bytes() const noexcept {
    return buffer_ == nullptr ? 0 : polys_ * limbs_->size() * stride_ * sizeof(Word);
  }
  bool empty() const noexcept { return polys_ == 0; }
  const ResidueForm& form() const noexcept { return form_; }

  /// Whether the device that they are on failed, and what `Device::check` throws then.
  bool is_lost() const noexcept { return buffer_ != nullptr && buffer_->is_lost(); }
  void check() const {
    if (buffer_ != nullptr) buffer_->check();
  }

  /// The same residues in another form, if `keep` was given them; gone once these are written. What is lost is not kept
  /// on.
  std::shared_ptr<const RnsPolys> copy_in(const ResidueForm& form) const;
  void keep(std::shared_ptr<const RnsPolys> copy) const;

  LimbView view() noexcept { return view(0, polys_, 0, limbs_->size()); }
  ConstLimbView view() const noexcept { return view(0, polys_, 0, limbs_->size()); }
  /// Polys [poly, poly + polys) x limbs [first, first + count).
  LimbView view(std::uint32_t poly, std::uint32_t polys, std::size_t first, std::size_t count) noexcept;
  ConstLimbView view(std::uint32_t poly, std::uint32_t polys, std::size_t first, std::size_t count) const noexcept;

 private:
  std::shared_ptr<Buffer> buffer_;
  std::unique_ptr<LimbList> limbs_;  // on the heap, so that views survive a move of the owner
  std::uint32_t polys_ = 0;
  std::size_t stride_ = 0, poly_stride_ = 0, first_ = 0;  // words; those before the first
  ResidueForm form_;
  mutable std::vector<std::shared_ptr<const RnsPolys>> copies_;  // what `keep` was given
};

/// Copies polynomials of one ring to another one with the same primes, whatever device either is on.
RnsPolys copy_of(const Ring& from, const RnsPolys& residues, const Ring& to);

/// Device memory for the scratch of a kernel.
class Scratch {
 public:
  Scratch(const Ring& ring, std::size_t words) : buffer_(ring.device().allocate(words * sizeof(Word))), words_(words) {}
  std::span<Word> words() noexcept { return {buffer_.to_write(), words_}; }
  std::span<const Word> words() const noexcept { return {buffer_.to_read(), words_}; }

 private:
  Buffer buffer_;
  std::size_t words_;
};

}  // namespace lw
