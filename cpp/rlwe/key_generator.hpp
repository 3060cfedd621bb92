// Makes keys. Every key is checked against the security table by itself.
#pragma once

#include <functional>
#include <span>

#include "rlwe/keys.hpp"
#include "rlwe/unfinished_keys.hpp"

namespace lw {

/// Called after each evaluation key is made: its number, how many there will be, and what it is.
using KeyProgress = std::function<void(std::size_t index, std::size_t count, const KeySpec& spec)>;

/// Throws lw::Error(kSecurity) if one of the keys would be too weak, kValue for keys that belong together with others.
void check_key_specs(std::span<const KeySpec> specs, const Parameters& parameters);

class KeyGenerator {
 public:
  explicit KeyGenerator(const Context& context, SeedSource seeds = {})
      : home_(context), context_(context.host()), seeds_(std::move(seeds)) {}

  /// The key set of a secret of an INSECURE seed begins with kInsecureName.
  SecretKey secret_key() const;
  /// Makes a public key on the host, where the encryptor is.
  PublicKey public_key(const SecretKey& secret) const;
  /// One key per spec, in order, in the memory of the context. Keys to and from the sparse secret come together, for it
  /// is drawn here and forgotten; lw::Error(kValue) otherwise. Throws lw::Error(kSecurity) before any work if one of
  /// them would be too weak.
  EvaluationKeys evaluation_keys(const SecretKey& secret, std::span<const KeySpec> specs,
                                 const KeyProgress& on_key = {}) const;
  /// Makes the keys that a file does not hold yet, one after the other, and completes the file; no more than one is in
  /// memory. on_key comes for those that it holds, too. Seeds are drawn anew in each call: no key of an earlier one,
  /// written or not, shares its a with one of this.
  void write_evaluation_keys(const SecretKey& secret, UnfinishedKeys& file, const KeyProgress& on_key = {}) const;

 private:
  /// The ephemeral secret of weight kSparseWeight.
  SecretKey sparse_secret(const SecretKey& secret) const;
  EvaluationKey evaluation_key(const SecretKey& secret, const SecretKey& sparse, const KeySpec& spec,
                               const SeedRef& seed) const;

  const Context& home_;     // where keys are used
  const Context& context_;  // where they are made, on the host
  SeedSource seeds_;
};

inline constexpr std::string_view kInsecureName = "INSECURE";

}  // namespace lw
