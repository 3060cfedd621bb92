// Where the executor gets keys and encoded constants from. Both are asked for late and given back early.
#pragma once

#include <sys/types.h>

#include <complex>
#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "exec/scheme.hpp"
#include "rlwe/switch_keys.hpp"

namespace lw {

/// The keys that one instruction reads.
struct KeyUse {
  std::vector<KeySpec> keys;                     // as the plan names them
  Level level;                                   // at which they are read
  std::vector<std::vector<std::size_t>> passes;  // which of them each way through the limbs reads
};

/// The uses of a run, in order.
class KeyUses {
 public:
  virtual ~KeyUses() = default;
  /// Nothing after the last.
  virtual std::optional<KeyUse> next() = 0;
};

/// Throws lw::Error(kValue) after the last.
KeyUse next_use(KeyUses& uses);

/// The keys of one run, which holds no more of them than it reads. Ends with it, however that ends.
class KeyRun {
 public:
  virtual ~KeyRun() = default;
  /// The keys of the next use, until the next call. Reading them throws what reading a file throws.
  virtual const SwitchKeys& next() = 0;
};

class KeyProvider {
 public:
  virtual ~KeyProvider() = default;
  virtual const KeySetId& id() const = 0;
  virtual const Fingerprint& parameters() const = 0;
  /// Whether it has such a key. Loads nothing.
  virtual bool has(const KeySpec& spec) const = 0;
  /// The bytes of keys that there may be in memory, and the fewest with which a use can be served.
  virtual std::size_t budget_bytes() const noexcept { return SIZE_MAX; }
  virtual std::size_t least_bytes(const KeyUse&) const { return 0; }
  /// For a run that will use these; tick is called now and then in a wait, and may throw to cancel it.
  virtual std::unique_ptr<KeyRun> start(std::unique_ptr<KeyUses> uses, Tick tick) = 0;
};

/// All keys in memory.
class ResidentKeys final : public KeyProvider {
 public:
  ResidentKeys(std::shared_ptr<const EvaluationKeys> keys, std::shared_ptr<const Parameters> parameters)
      : keys_(std::move(keys)), parameters_(std::move(parameters)) {}

  const KeySetId& id() const override { return keys_->id(); }
  const Fingerprint& parameters() const override { return keys_->parameters(); }
  bool has(const KeySpec& spec) const override { return keys_->find(spec, *parameters_) != nullptr; }
  std::unique_ptr<KeyRun> start(std::unique_ptr<KeyUses> uses, Tick tick) override;

 private:
  std::shared_ptr<const EvaluationKeys> keys_;
  std::shared_ptr<const Parameters> parameters_;
};

/// The slot vectors of a constant, one after the other: as many values each as the type has slots, or a power of two
/// fewer that are then repeated.
/// Those of one product of a block map where `product` is given.
using ConstantSource =
    std::function<std::vector<std::complex<double>>(std::uint32_t constant, std::optional<std::uint32_t> product)>;

/// One product of a block map: of the diagonal with this number among the products.
struct MapProduct {
  std::uint32_t input;  // number of the ciphertext
  std::uint32_t baby;   // 0: itself; k: turned by key k - 1
  std::uint32_t sum;    // that it is added to
};
/// All products of a constant that is a block map, those of a sum after each other.
using ProductSource = std::function<std::vector<MapProduct>(std::uint32_t constant)>;

/// Encodes constants when they are first needed, and keeps within a byte budget what spares that: first of all their
/// rounded coefficients, equal ones once, and with the rest of it whole plaintexts, those most recently used. One that
/// somebody holds is not made again, kept or not: members of a batch hold the same ones at the same time. Nor is one
/// that somebody makes: others wait for it. So whatever runs there are, each plaintext is in memory once.
/// Safe to share between threads.
class PlaintextProvider {
 public:
  PlaintextProvider(std::shared_ptr<const Context> context, ConstantSource source, ProductSource products,
                    std::size_t budget_bytes)
      : context_(std::move(context)),
        scheme_(make_scheme(*context_)),
        source_(std::move(source)),
        products_(std::move(products)),
        budget_bytes_(budget_bytes) {}

  /// As many plaintexts as the type counts.
  std::vector<Plaintext> acquire(std::uint32_t constant, const ValueType& type);
  /// The plaintext of one product of a block map, of this type but for its count.
  Plaintext acquire_product(std::uint32_t constant, std::uint32_t product, const ValueType& type);
  std::vector<MapProduct> products(std::uint32_t constant) const { return products_(constant); }
  std::size_t budget_bytes() const noexcept { return budget_bytes_; }
  std::size_t cached_bytes() const;

 private:
  using Name = std::tuple<std::uint32_t, std::optional<std::uint32_t>, std::uint32_t, std::uint32_t, std::uint32_t,
                          double, Basis, bool, std::uint32_t>;
  using Vectors = std::vector<std::shared_ptr<const Rounded>>;
  struct CachedConstant {
    Vectors rounded;
    std::vector<Plaintext> lifted;               // none: lifted anew when needed
    std::list<const Name*>::iterator recency{};  // among those with lifted ones
  };

  /// Plaintexts without their rows, and those as long as somebody has them.
  struct HeldConstant {
    std::vector<Plaintext> plaintexts;
    std::vector<std::weak_ptr<const PolyRows>> rows;
    std::vector<Plaintext> all() const;  // none unless all are there
  };

  /// One that a thread makes. After a fork those of the parent's threads are nobody's.
  struct Making {
    pid_t process;
    std::shared_future<void> done;
  };
  class Made;

  std::vector<Plaintext> acquire(std::uint32_t constant, std::optional<std::uint32_t> product, const ValueType& type);
  /// What is in memory; else nothing, and its coefficients if they are known.
  std::vector<Plaintext> find(const Name& name, Vectors& rounded);
  Vectors round(std::uint32_t constant, std::optional<std::uint32_t> product, const ValueType& type) const;
  std::vector<Plaintext> lift(const Vectors& rounded, const ValueType& type) const;
  void keep(const Name& name, Vectors rounded, const std::vector<Plaintext>& lifted);
  bool keep_rounded(const Name& name, Vectors rounded);
  void drop(CachedConstant& entry);
  void note_held(const Name& name, const std::vector<Plaintext>& lifted);

  std::shared_ptr<const Context> context_;
  std::unique_ptr<const Scheme> scheme_;
  ConstantSource source_;
  ProductSource products_;
  std::size_t budget_bytes_;
  mutable std::mutex mutex_;
  std::map<Name, CachedConstant> entries_;
  std::list<const Name*> lifted_;                                          // most recently used first
  std::unordered_map<std::size_t, std::shared_ptr<const Rounded>> known_;  // by hash
  std::size_t rounded_bytes_ = 0, lifted_bytes_ = 0;
  std::map<Name, HeldConstant> held_;
  std::map<Name, Making> making_;
  std::size_t most_held_ = 64;  // entries, before those that nobody has leave
};

}  // namespace lw
