// Provides encoded constants to the executor: made when they are first needed, and kept within a budget.
#pragma once

#include <sys/types.h>

#include <complex>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "exec/prepared_constants.hpp"
#include "exec/scheme.hpp"
#include "math/blake3.hpp"
#include "rlwe/weight_matrix.hpp"

namespace lw {

/// The slot vectors of a constant, one after the other: as many values each as the type has slots, or a power of two
/// fewer that are then repeated.
/// Plaintexts of one product of a block map where `product` is given. Of a matrix its numbers, row after row.
using ConstantSource =
    std::function<std::vector<std::complex<double>>(std::uint32_t constant, std::optional<std::uint32_t> product)>;

/// One product of a block map: of the diagonal with this number among the products.
struct MapProduct {
  std::uint32_t input;  // number of the ciphertext
  std::uint32_t baby;   // 0: itself; k: rotated by key k - 1
  std::uint32_t sum;    // that it is added to
};
/// All products of a constant that is a block map, those of a sum after each other.
using ProductSource = std::function<std::vector<MapProduct>(std::uint32_t constant)>;

/// Rounded coefficients, of each plaintext of an array.
using Coefficients = std::vector<std::shared_ptr<const Integers>>;

/// Encodes constants when they are first needed, and keeps within a byte budget what spares that: first of all their
/// rounded coefficients, equal ones once, in memory of the device, and with the rest of it whole plaintexts, of the
/// constants that a run uses most often, and of those the most recently used. One that somebody holds is not made
/// again, kept or not: members of a batch hold the same ones at the same time. Nor is one that somebody makes: others
/// wait for it. So whatever runs there are, each plaintext is in memory once, apart from those that runs lift for
/// themselves. What was prepared is not made at all. Safe to share between threads.
///
/// For sums of products it hands out coefficients where whole plaintexts do not stay, if it may (`lifts_late`): those
/// transform a few limbs at a time, so that whole ones of all terms are never in memory, nor go there and back. Runs at
/// the same time then transform each for itself.
class PlaintextProvider {
 public:
  /// uses: of each constant in a run; one where it does not say, and of 0 no whole plaintext stays.
  PlaintextProvider(std::shared_ptr<const Context> context, ConstantSource source, ProductSource products,
                    std::size_t budget_bytes, std::shared_ptr<const PreparedConstants> prepared = nullptr,
                    bool lifts_late = false, std::vector<double> uses = {})
      : context_(std::move(context)),
        scheme_(make_scheme(*context_)),
        source_(std::move(source)),
        products_(std::move(products)),
        budget_bytes_(budget_bytes),
        lifts_late_(lifts_late && context_->ring().backend().form().is_on_host()),
        prepared_(std::move(prepared)),
        prepared_bytes_(prepared_ == nullptr ? 0 : prepared_->num_bytes()),
        uses_(std::move(uses)) {}

  /// Gets the plaintexts of a constant, as many as `type` counts; those of one product of a block map, if it is given.
  /// for_sums: they may be coefficients.
  std::vector<Plaintext> acquire(std::uint32_t constant, std::optional<std::uint32_t> product, const ValueType& type,
                                 bool for_sums = false);

  /// The rounded coefficients of those.
  Coefficients coefficients(std::uint32_t constant, std::optional<std::uint32_t> product, const ValueType& type) {
    return round_values(std::get<Values>(name_of(constant, product, type)), type).coefficients;
  }

  /// The kept form of a constant: whole plaintexts, else coefficients, else nothing.
  struct Kept {
    std::vector<Plaintext> whole;
    Coefficients coefficients;
  };
  /// Keeps of it what there is room for, and says what. Everything is done on a queue of its own.
  Kept keep(std::uint32_t constant, std::optional<std::uint32_t> product, const ValueType& type);
  /// The plaintexts that these are coefficients of, made on the running queue from memory of the device alone. Nobody
  /// else gets them.
  std::vector<Plaintext> lift(const Coefficients& coefficients, const ValueType& type) const;

  /// Reserves the budget for at most `bytes` of coefficients that are to come: whole plaintexts leave room for them
  /// from the start, and need not be evicted later.
  void foresee(std::size_t bytes);
  /// An upper bound on the bytes of coefficients of a constant of this type.
  std::size_t coefficient_bytes(const ValueType& type) const noexcept;

  /// A matrix of real numbers times a scale, rounded. It stays as long as the provider does: it is far smaller than
  /// what it is multiplied with.
  const WeightMatrix& weights(std::uint32_t constant, MatrixShape shape, double scale);

  std::vector<MapProduct> products(std::uint32_t constant) const { return products_(constant); }
  std::size_t budget_bytes() const noexcept { return budget_bytes_; }
  std::size_t cached_bytes() const;
  /// The part of them that coefficients take.
  std::size_t cached_coefficient_bytes() const;

 private:
  /// The key of cached coefficients: constant, product, slots, count and scale.
  using Values = std::tuple<std::uint32_t, std::optional<std::uint32_t>, std::uint32_t, std::uint32_t, double>;
  /// The key of cached plaintexts: the coefficients' key, track and level, basis, and whether BFV adds them.
  using Name = std::tuple<Values, std::uint32_t, std::uint32_t, Basis, bool>;
  /// Uses in a run, and when the last was, by the count of all: the least goes first.
  using Worth = std::pair<double, std::uint64_t>;
  struct Whole {
    std::vector<Plaintext> plaintexts;
    Worth worth;
  };
  struct Rounded {
    Coefficients coefficients;
    bool is_kept;
  };

  /// Plaintexts without their limbs, and those as long as somebody has them.
  struct HeldConstant {
    std::vector<Plaintext> plaintexts;
    std::vector<std::weak_ptr<const RnsPolys>> residues;
    std::vector<Plaintext> all() const;  // none unless all are there
  };

  /// A constant that a thread makes. After a fork those of the parent's threads are nobody's.
  struct Work {
    pid_t process;
    std::shared_future<void> done;
  };
  class Making;

  static Name name_of(std::uint32_t constant, std::optional<std::uint32_t> product, const ValueType& type);
  /// Waits until no other thread makes the plaintexts of this name.
  void wait_for_others(std::unique_lock<std::mutex>& lock, const Name& name);
  std::vector<Plaintext> find(const Name& name);
  std::vector<Plaintext> find_whole(const Name& name);
  std::size_t plaintext_bytes(const ValueType& type) const;
  bool has_room(std::size_t bytes) const noexcept;
  /// Whether there is room for a whole plaintext, or others that a run uses less often can make way for it.
  bool could_have_room(std::size_t bytes, double uses) const;
  double uses_of(const Name& name) const noexcept;

  std::vector<Plaintext> unlifted(const Coefficients& coefficients, const ValueType& type) const;
  Rounded round_values(const Values& values, const ValueType& type);
  /// Coefficients that are kept, or that somebody holds; none where there are none.
  Rounded find_rounded(const Values& values, const ValueType& type);
  void note_held(const Values& values, const Coefficients& made);
  std::vector<std::vector<std::int64_t>> round(const Values& values, const ValueType& type) const;
  bool keep_rounded(const Values& values, const ValueType& type, const std::vector<Hash>& hashes, Coefficients& made);
  /// Keeps whole plaintexts where there is room, if their coefficients are. Returns whether they stay.
  bool keep_whole(const Name& name, const std::vector<Plaintext>& lifted, bool is_kept);
  void drop_least();
  void note_held(const Name& name, const std::vector<Plaintext>& lifted);

  std::shared_ptr<const Context> context_;
  std::unique_ptr<const Scheme> scheme_;
  ConstantSource source_;
  ProductSource products_;
  std::size_t budget_bytes_;
  bool lifts_late_;
  std::shared_ptr<const PreparedConstants> prepared_;
  std::size_t prepared_bytes_;  // of the budget
  std::vector<double> uses_;
  mutable std::mutex mutex_;
  std::map<Values, Coefficients> rounded_;
  std::map<Hash, std::shared_ptr<const Integers>> known_;  // all of them, by content
  std::map<Name, Whole> whole_;
  std::map<Worth, Name> by_worth_;  // those
  std::uint64_t num_uses_ = 0;
  std::size_t rounded_bytes_ = 0, whole_bytes_ = 0, foreseen_bytes_ = 0;
  std::map<Name, HeldConstant> held_;
  std::map<Values, std::vector<std::weak_ptr<const Integers>>> held_rounded_;  // not kept, but in use
  std::map<Name, Work> making_;
  std::map<std::pair<std::uint32_t, double>, std::unique_ptr<const WeightMatrix>> weights_;
  std::size_t most_held_ = 64, most_held_rounded_ = 64;  // entries, before those that nobody has leave
};

}  // namespace lw
