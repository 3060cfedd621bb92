// What the owner of a key has done for many messages at a time, by a device that can: a call is a few launches, however
// many there are. The host does the same one by one (rlwe/encryptor.cpp, rlwe/decryptor.cpp, schemes/ckks/encoder.cpp),
// with the same bits. Contracts are those of Kernels: all addresses are memory of the device.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/kernels.hpp"

namespace lw {

/// A stream of each item: which of its seeds, and the rest of the name of ring/uniform.hpp (object 0, round 0).
struct ItemStream {
  std::uint32_t seed, domain, digit, limb;
};
constexpr std::size_t kSeedWords = 4;  // of a seed, and of a key

/// Keys of streams of items, [item][step]; that of the first one needed.
struct ItemKeys {
  const Word* keys;
  std::size_t step;
};

/// The public stream of each poly, by its keys for each limb, and by its seed.
struct UniformItems {
  ItemKeys limb_keys, seeds;
  std::uint32_t domain;
};

/// Signed integers of each poly, at the multiples of N / count: [poly][count]. None: count is 0.
struct ItemIntegers {
  const Word* words = nullptr;
  std::size_t count = 0;
};

/// Slots of `messages` messages, [message][slots]: float64, or complex pairs of them.
struct SlotWords {
  Word* words;
  std::size_t messages, slots;
  bool is_real;
};

class ClientKernels {
 public:
  virtual ~ClientKernels() = default;

  /// keys: [item][stream], from seeds [item][num_seeds].
  virtual void derive_keys(Queue& q, Word* keys, const Word* seeds, std::size_t items, std::size_t num_seeds,
                           std::span<const ItemStream> streams) const noexcept = 0;
  /// Uniform polys, each from the stream of its item.
  virtual void expand_streams(Queue& q, LimbView out, const UniformItems& items) const noexcept = 0;

  /// Residues in coefficient form, one poly an item: integers; with an error from the item's key; a ternary mask.
  virtual void import_messages(Queue& q, LimbView out, const ItemIntegers& integers) const noexcept = 0;
  virtual void import_noisy(Queue& q, LimbView out, const ItemIntegers& integers,
                            const ItemKeys& errors) const noexcept = 0;
  virtual void sample_ternary(Queue& q, LimbView out, const ItemKeys& masks) const noexcept = 0;
  /// Two polys an item, with errors of two keys that follow each other: for which products + error is a multiple of the
  /// prime of their one limb. products: in coefficient form; null: minus the error.
  virtual void import_remainders(Queue& q, LimbView out, const ConstLimbView* products,
                                 const ItemKeys& errors) const noexcept = 0;

  /// Coefficients [message][2 slots] of slots: rint(x * scale). Writes 1 to *is_wrong for one that is not below 2^62.
  /// work: of complex pairs, for more than most_slots_at_once() slots. roots: embedding_roots of as many slots.
  virtual void unembed(Queue& q, Word* coefficients, const SlotWords& in, Word* work, const Word* roots, double scale,
                       Word* is_wrong) const noexcept = 0;
  virtual std::size_t most_slots_at_once() const noexcept = 0;

  /// One poly for each ciphertext of one degree, over limbs that all of them begin with: its value at the secret.
  virtual void at_secret(Queue& q, LimbView out, std::span<const ConstLimbView> ciphertexts,
                         ConstLimbView minus_secret) const noexcept = 0;
  /// Slots of messages with these residues in coefficient form, which are overwritten. inverses: [j][i] of prime i
  /// modulo prime j. work: of complex pairs.
  virtual void read(Queue& q, const SlotWords& out, LimbView residues, std::span<const double> scales,
                    std::span<const Word> inverses, Word* work, const Word* roots) const noexcept = 0;

  /// Elements [first, first + out.polys / 3) of the product of matrices of pairs of polynomials, row by row; three
  /// polys each. left: [rows][terms], right: [terms][columns].
  virtual void matrix_product(Queue& q, LimbView out, std::span<const ConstLimbView> left,
                              std::span<const ConstLimbView> right, std::size_t terms,
                              std::size_t first) const noexcept = 0;
};

}  // namespace lw
