// The scheme as the executor uses it: constants to plaintexts, and products of ciphertexts. All else is rlwe's.
#pragma once

#include <complex>
#include <memory>
#include <span>

#include "exec/plan.hpp"
#include "ring/integers.hpp"
#include "rlwe/evaluator.hpp"

namespace lw {

/// Errors are those of the schemes. Safe to share between threads.
class Scheme {
 public:
  virtual ~Scheme() = default;

  /// A slot vector of a constant as integers, for a plaintext of this type.
  virtual std::vector<std::int64_t> round(std::span<const std::complex<double>> values,
                                          const ValueType& type) const = 0;
  /// Integers on the device of the context; reads and writes its memory alone.
  virtual Plaintext lift(const Integers& rounded, const ValueType& type) const = 0;

  virtual Ciphertext mul(const Ciphertext& a, const Ciphertext& b) const = 0;
  virtual Ciphertext square(const Ciphertext& x) const = 0;
  /// The sum of mul(a[i], b[i]) over at least one pair.
  virtual Ciphertext dot(std::span<const Ciphertext* const> a, std::span<const Ciphertext* const> b) const = 0;
  /// mul, then relinearize.
  virtual Ciphertext mul_relinearize(const Ciphertext& a, const Ciphertext& b, const SwitchKeys& relin) const = 0;
  /// A number added to every slot: as an integer at the scale of x, or modulo t.
  virtual Ciphertext add_int(Ciphertext x, std::int64_t addend) const = 0;
};

/// The scheme of a context's parameters. The context must outlive it.
std::unique_ptr<const Scheme> make_scheme(const Context& context, Tick tick = {});

}  // namespace lw
