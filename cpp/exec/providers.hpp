// Where the executor gets keys and encoded constants from. Both are asked for late and given back early.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "exec/scheme.hpp"

namespace lw {

/// A key in use; given back to its provider when the last copy goes.
using KeyLease = std::shared_ptr<const EvaluationKey>;

class KeyProvider {
 public:
  virtual ~KeyProvider() = default;
  virtual const KeySetId& id() const = 0;
  virtual const Fingerprint& parameters() const = 0;
  /// Whether acquire would succeed. Loads nothing.
  virtual bool has(const KeySpec& spec) const = 0;
  /// The key will be acquired soon.
  virtual void prefetch(const KeySpec& spec) = 0;
  /// Throws lw::Error(kMissingKey).
  virtual KeyLease acquire(const KeySpec& spec) = 0;
};

/// All keys in memory.
class ResidentKeys final : public KeyProvider {
 public:
  ResidentKeys(std::shared_ptr<const EvaluationKeys> keys, std::shared_ptr<const Parameters> parameters)
      : keys_(std::move(keys)), parameters_(std::move(parameters)) {}

  const KeySetId& id() const override { return keys_->id(); }
  const Fingerprint& parameters() const override { return keys_->parameters(); }
  bool has(const KeySpec& spec) const override { return keys_->find(spec, *parameters_) != nullptr; }
  void prefetch(const KeySpec&) override {}
  KeyLease acquire(const KeySpec& spec) override;

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
/// rounded coefficients, equal ones once, and with the rest of it whole plaintexts, those most recently used.
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

  std::vector<Plaintext> acquire(std::uint32_t constant, std::optional<std::uint32_t> product, const ValueType& type);
  Vectors round(std::uint32_t constant, std::optional<std::uint32_t> product, const ValueType& type) const;
  std::vector<Plaintext> lift(const Vectors& rounded, const ValueType& type) const;
  void keep(const Name& name, Vectors rounded, const std::vector<Plaintext>& lifted);
  bool keep_rounded(const Name& name, Vectors rounded);
  void drop(CachedConstant& entry);

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
};

}  // namespace lw
