// The functions of lw::Kernels as launches of kernels; contracts in backend/kernels.hpp.
#pragma once

#include "backend/gpu/arithmetic.hpp"
#include "backend/kernels.hpp"

namespace lw::gpu {

/// For the queues of rings with this arithmetic.
const lw::Kernels& entries_of(Arithmetic arithmetic) noexcept;

template <class A>
struct RowEntries {
  static void copy(Queue& q, Rows out, ConstRows x) noexcept;
  static void zero(Queue& q, Rows out) noexcept;
  static void monomial(Queue& q, Rows out, std::uint64_t exponent) noexcept;
  static void add(Queue& q, Rows out, ConstRows a, ConstRows b) noexcept;
  static void sub(Queue& q, Rows out, ConstRows a, ConstRows b) noexcept;
  static void neg(Queue& q, Rows out, ConstRows a) noexcept;
  static void mul(Queue& q, Rows out, ConstRows a, ConstRows b) noexcept;
  static void mul_add(Queue& q, Rows out, ConstRows a, ConstRows b) noexcept;
  static void tensor(Queue& q, Rows out, ConstRows a, ConstRows b) noexcept;
  static void mul_scalar(Queue& q, Rows out, ConstRows a, std::span<const Word> scalars) noexcept;
  static void add_scalar(Queue& q, Rows out, ConstRows a, std::span<const Word> scalars) noexcept;
  static void sub_scale(Queue& q, Rows out, ConstRows a, ConstRows b, std::span<const Word> scalars) noexcept;
  static void dot(Queue& q, Rows out, std::span<const ConstRows> a, std::span<const ConstRows> b) noexcept;
  static void automorphism(Queue& q, Rows out, ConstRows a, std::uint64_t galois_element) noexcept;
};

template <class A>
struct TransformEntries {
  static void ntt(Queue& q, Rows out, ConstRows x) noexcept;
  static void intt(Queue& q, Rows out, ConstRows x) noexcept;
  /// Forward transforms in their place in two steps, which go through memory once each: the first stages, if all are
  /// too many for one, and the others.
  static void ntt_begin(Queue& q, Rows x) noexcept;
  static void ntt_end(Queue& q, Rows x) noexcept;
  /// The second step, with (a - result) * scalar for each limb; x is scratch afterwards.
  static void ntt_end_sub_scale(Queue& q, Rows out, ConstRows a, Rows x, std::span<const Word> scalars) noexcept;
};

/// Some targets of a base conversion that follow each other.
struct LiftPart {
  const LiftTable* table;
  ConstRows in;
  std::size_t first, count;
};

template <class A>
struct LiftEntries {
  static void lift(Queue& q, Rows out, ConstRows in, const LiftTable& table) noexcept;
  /// Parts, whose rows follow each other in `out`, and what of their transforms can be done at once. Where there are
  /// several, they have one poly. Returns whether ntt_end is left to be done.
  static bool lift_ntt_begin(Queue& q, Rows out, std::span<const LiftPart> parts) noexcept;
  /// (a - transform of the lift) * scalar for each limb of out; scratch: as many rows.
  static void lift_ntt_sub_scale(Queue& q, Rows out, ConstRows a, const LiftPart& part, std::span<const Word> scalars,
                                 Word* scratch) noexcept;
};

template <class A>
struct SwitchEntries {
  static void key_switch(Queue& q, std::span<const Rows> out, const SwitchSource& source, LimbWindow window,
                         std::span<const KeyRows> keys, std::span<Word> scratch) noexcept;
  static void diag_sums(Queue& q, std::span<const Rows> out, const SwitchSource& source, LimbWindow window,
                        ConstRows self, std::span<const KeyRows> keys, std::span<const DiagonalTerm> terms,
                        std::span<Word> scratch) noexcept;
  static void mod_down(Queue& q, Rows out, ConstRows x, ConstRows removed, const LiftTable& table,
                       std::span<const Word> inverse, std::span<Word> scratch) noexcept;
  static std::size_t key_switch_scratch(Queue& q, const SwitchSource& source, std::size_t num_keys) noexcept;
  static std::size_t diag_sums_scratch(Queue& q, const SwitchSource& source, std::size_t num_keys,
                                       std::size_t num_giants) noexcept;
  static std::size_t mod_down_scratch(Queue& q, std::uint32_t polys, const LiftTable& table) noexcept;
};

template <class A>
struct ResidueEntries {
  static void import_signed(Queue& q, Rows out, std::span<const std::int64_t> coefficients) noexcept;
  static void import_integers(Queue& q, Rows out, const IntegerRow& in) noexcept;
  static bool import_residues(Queue& q, Rows out, const PackedRows& canonical) noexcept;
  static void export_residues(Queue& q, const PackedRowsOut& canonical, ConstRows in) noexcept;
  static void expand_uniform(Queue& q, Rows out, const UniformStream& stream) noexcept;
  static bool import_seeded(Queue& q, Rows stored, Rows expanded, const PackedRows& canonical,
                            const UniformStream& stream) noexcept;
};

}  // namespace lw::gpu
