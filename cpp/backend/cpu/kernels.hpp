// The kernels of `cpu`; contracts in backend/kernels.hpp. They batch and share out the rows of row_kernels.hpp.
#pragma once

#include "backend/kernels.hpp"

namespace lw::cpu {

void ntt(Queue& q, Rows out, ConstRows x) noexcept;
void intt(Queue& q, Rows out, ConstRows x) noexcept;
void copy(Queue& q, Rows out, ConstRows x) noexcept;
void zero(Queue& q, Rows out) noexcept;
void monomial(Queue& q, Rows out, std::uint64_t exponent) noexcept;

void add(Queue& q, Rows out, ConstRows a, ConstRows b) noexcept;
void sub(Queue& q, Rows out, ConstRows a, ConstRows b) noexcept;
void neg(Queue& q, Rows out, ConstRows a) noexcept;
void mul(Queue& q, Rows out, ConstRows a, ConstRows b) noexcept;
void mul_add(Queue& q, Rows out, ConstRows a, ConstRows b) noexcept;
void tensor(Queue& q, Rows out, ConstRows a, ConstRows b) noexcept;
void mul_scalar(Queue& q, Rows out, ConstRows a, std::span<const Word> scalars) noexcept;
void add_scalar(Queue& q, Rows out, ConstRows a, std::span<const Word> scalars) noexcept;
void sub_scale(Queue& q, Rows out, ConstRows a, ConstRows b, std::span<const Word> scalars) noexcept;
void dot(Queue& q, Rows out, std::span<const ConstRows> a, std::span<const ConstRows> b) noexcept;

void automorphism(Queue& q, Rows out, ConstRows a, std::uint64_t galois_element) noexcept;
void lift(Queue& q, Rows out, ConstRows in, const LiftTable& table) noexcept;

void key_switch(Queue& q, std::span<const Rows> out, const SwitchSource& source, LimbWindow window,
                std::span<const KeyRows> keys, std::span<Word> scratch) noexcept;
void diag_sums(Queue& q, std::span<const Rows> out, const SwitchSource& source, LimbWindow window, ConstRows self,
               std::span<const KeyRows> keys, std::span<const DiagonalTerm> terms, std::span<Word> scratch) noexcept;
void mod_down(Queue& q, Rows out, ConstRows x, ConstRows removed, const LiftTable& table, std::span<const Word> inverse,
              std::span<Word> scratch) noexcept;
std::size_t key_switch_scratch(Queue& q, const SwitchSource& source, std::size_t num_keys) noexcept;
std::size_t diag_sums_scratch(Queue& q, const SwitchSource& source, std::size_t num_keys,
                              std::size_t num_giants) noexcept;
std::size_t mod_down_scratch(Queue& q, std::uint32_t polys, const LiftTable& table) noexcept;

void import_signed(Queue& q, Rows out, std::span<const std::int64_t> coefficients) noexcept;
void import_integers(Queue& q, Rows out, const IntegerRow& in) noexcept;
void ntt_integers(Queue& q, Rows out, const IntegerRow& in) noexcept;
bool import_residues(Queue& q, Rows out, const PackedRows& canonical) noexcept;
void export_residues(Queue& q, const PackedRowsOut& canonical, ConstRows in) noexcept;
void expand_uniform(Queue& q, Rows out, const UniformStream& stream) noexcept;
bool import_seeded(Queue& q, Rows stored, Rows expanded, const PackedRows& packed,
                   const UniformStream& stream) noexcept;

void embed(Queue& q, std::span<std::complex<double>> values) noexcept;
void unembed(Queue& q, std::span<std::complex<double>> values) noexcept;

}  // namespace lw::cpu
