// Encoded constants of a plan in a file, made ahead of runs, and in memory that processes share.
//
// Their bytes decide results, so none may change after it was verified, and no fault of a file may be a SIGBUS. Neither
// can be had of a mapped file, private or not. Leases hold up who writes to one for 45 s, and a handler of SIGBUS is
// nothing for a library. So a server reads the file once, verifies each row in its buffer, and copies it to memory that
// is sealed before it is used. Other servers of the user find that by its name, the hash of the table of rows; it is
// theirs if it is sealed, and every row is what the table of their own file says. Those that begin together take turns.
// Where the system has no such memory, each process has a copy.
//
// The file is trusted as the plan is, so it is refused where another user could have written it. It holds each constant
// in both forms: whole plaintexts, which nobody has to transform, and their rounded coefficients, which are a tenth of
// the bytes or less, and which sums of products transform where they use them. A server takes what its budget holds:
// all plaintexts if they fit; else coefficients, which spare more time a byte, and with the rest of it plaintexts.
// Those that a run uses most come first in the file.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exec/plan.hpp"
#include "io/sealed_memory.hpp"
#include "ring/integers.hpp"
#include "rlwe/ciphertext.hpp"

namespace lw {

class PlaintextProvider;

/// What prepared constants belong to, beside parameters, backend and instruction set: a plan, and the build of the
/// library, as another may encode otherwise.
struct PreparedFor {
  Hash plan;
  std::string build;
};

/// Everything that the limbs of an encoded constant depend on. In the file it is this record, as processors have it.
struct PreparedName {
  static constexpr std::uint32_t kNoProduct = UINT32_MAX;

  std::uint32_t constant = 0, product = kNoProduct;
  std::uint32_t slots = 0, count = 0;
  double scale = 0;
  std::uint32_t track = 0, level = 0, basis = 0, is_addend = 0;

  static PreparedName of(std::uint32_t constant, std::optional<std::uint32_t> product, const ValueType& type) noexcept;
  /// The name of its coefficients.
  PreparedName of_coefficients() const noexcept { return {constant, product, slots, count, scale}; }
  auto operator<=>(const PreparedName&) const = default;
};

/// Encodes all constants of a plan that can be told from its code, and writes them to a new file, which appears when it
/// is complete. uses: of each constant in a run; whole plaintexts take no more than `most_whole`. Returns its bytes.
/// Throws lw::Error(kValue) for a plan without constants, IoError, what the provider and `tick` throw.
std::uint64_t write_prepared(const std::string& path, const Context& context, const Plan& plan,
                             PlaintextProvider& provider, std::span<const double> uses, std::uint64_t most_whole,
                             const PreparedFor& belongs, const Tick& tick);

/// Constants from such a file, which is not read again once this is made: it may be replaced, altered or gone. Safe to
/// share between threads.
class PreparedConstants {
 public:
  /// Takes no more than `budget_bytes` of it. Throws lw::Error: kParameterMismatch for a file of other parameters, of
  /// another plan or build, or for another backend or instruction set; kFormat for one that is damaged; kSecurity for
  /// one that another user could have written; kOutOfMemory; what `tick` throws.
  PreparedConstants(std::shared_ptr<const Context> context, const std::string& path, const PreparedFor& belongs,
                    std::uint64_t budget_bytes, const Tick& tick);

  /// The plaintexts of a constant, as of PlaintextProvider::acquire; none where they are not here.
  std::vector<Plaintext> find(std::uint32_t constant, std::optional<std::uint32_t> product,
                              const ValueType& type) const;
  /// Their coefficients, which are the same at every level; none where they are not here.
  std::vector<std::shared_ptr<const Integers>> find_coefficients(std::uint32_t constant,
                                                                 std::optional<std::uint32_t> product,
                                                                 const ValueType& type) const;
  /// Bytes of memory, however many processes share it.
  std::size_t num_bytes() const noexcept { return memory_ == nullptr ? 0 : memory_->bytes().size(); }

 private:
  struct Place {
    std::size_t first_word;
    double scale;  // of the plaintext
    Basis basis;
  };

  std::shared_ptr<const Context> context_;
  std::shared_ptr<const SealedMemory> memory_;
  std::shared_ptr<Buffer> words_;  // it
  std::map<PreparedName, Place> places_;
  std::map<PreparedName, std::vector<std::shared_ptr<const Integers>>> coefficients_;
};

}  // namespace lw
