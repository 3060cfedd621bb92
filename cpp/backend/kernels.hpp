// The limb-level seam: every arithmetic step of the core is one of these functions, and a backend is a table of them.
//
// Contract common to all entries: batched over polys x limbs. Rows and scratch are memory of the device, read and
// written in the order of the queue, maybe after the call has returned. All else is memory of the host: what is
// there to be read (spans, limb lists, tables, packed rows, coefficients) has been read when the call returns, and
// may be a temporary; what is written there (exported rows, slots, a verdict) is there when it returns. Threads may
// call at the same time, on one queue too, as long as none writes what another reads or writes. Entries never throw:
// a queue that failed keeps its error for Device::check. They do not branch on the scheme. Residues are canonical (in
// [0, q)) in the `ref` encoding, and any representative with |x| < q in others. Except where a comment says so, `out`
// may alias an input row for row. Results are functions of residue classes, except `lift`, which takes centred
// representatives.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lw {

using Word = std::uint64_t;  // one residue at rest, in the backend's encoding

/// Rows of residues: row (p, j) holds N words of poly p modulo limb number limbs[j].
struct Rows {
  Word* base;
  std::size_t stride;                    // words between consecutive limbs
  std::size_t poly_stride;               // words between consecutive polys
  std::span<const std::uint16_t> limbs;  // limb numbers, in row order
  std::uint32_t polys;

  Word* row(std::size_t poly, std::size_t j) const noexcept { return base + poly * poly_stride + j * stride; }
};

struct ConstRows {
  const Word* base;
  std::size_t stride;
  std::size_t poly_stride;
  std::span<const std::uint16_t> limbs;
  std::uint32_t polys;

  ConstRows(const Word* b, std::size_t s, std::size_t ps, std::span<const std::uint16_t> l, std::uint32_t p) noexcept
      : base(b), stride(s), poly_stride(ps), limbs(l), polys(p) {}
  ConstRows(const Rows& r) noexcept  // NOLINT: every Rows is a legal source
      : base(r.base), stride(r.stride), poly_stride(r.poly_stride), limbs(r.limbs), polys(r.polys) {}
  const Word* row(std::size_t poly, std::size_t j) const noexcept { return base + poly * poly_stride + j * stride; }
};

/// Constants of one base conversion from limb set D to limb set T (canonical integers). Schemes fold factors into
/// `inverse`, and into `weight` and `total`: a kernel takes them from here and never from the primes (the weight of a
/// single limb need not be 1). Only `reciprocal` is always what it says.
struct LiftTable {
  /// Names the content, among all tables of a process: a device keeps what it made of it. 0: a table of one use.
  std::uint64_t number = 0;
  std::vector<std::uint16_t> from;  // D, ascending limb number: the order of the sum
  std::vector<std::uint16_t> to;    // T
  std::vector<Word> inverse;        // (D/q_j)^-1 mod q_j, one per D limb
  std::vector<double> reciprocal;   // float64(1/q_j)
  std::vector<Word> weight;         // [t][j]: D/q_j mod t
  std::vector<Word> total;          // D mod t, one per T limb
};

/// A number that no other table has.
std::uint64_t new_table_number() noexcept;

/// Canonical residues as stored: row (p, j) is N coefficients of widths[j] bits each, little endian, bit-packed.
struct PackedRows {
  const std::byte* base;
  std::span<const std::size_t> offsets;  // byte offset of each row, [poly][limb]
  std::span<const std::uint8_t> widths;  // bits a coefficient, one per limb: 1..64 (64 = plain words)
};
struct PackedRowsOut {
  std::byte* base;
  std::span<const std::size_t> offsets;
  std::span<const std::uint8_t> widths;
};

/// Signed integers of magnitude < 2^62 in memory of the device: the coefficients at the multiples of N / count, where
/// the others are zero. Narrow ones have 32 bits each, two to a word, the first of them in its low half. Of mirrored
/// ones, on the host alone, the first half is there: number count - i is minus number i, and number count / 2 zero.
struct IntegerRow {
  const Word* words;
  std::size_t count;  // a power of two up to N
  bool is_narrow, is_mirrored = false;
};

/// Names one uniform polynomial: residues are a pure function of this, the limb and the position.
struct UniformStream {
  std::span<const std::uint8_t, 32> seed;  // public
  std::uint32_t domain;                    // what it is for: a StreamDomain
  std::uint64_t object;                    // which object of that kind
  std::uint32_t digit;                     // which digit (key) or component
};

/// One digit of a polynomial to be switched: the same rows in both forms, one poly each. to_rest lifts it to the target
/// limbs outside it, in their order there. A digit whose ntt rows are those of every target limb has no rest:
/// to_rest is null and `coefficients` is not read.
struct DigitRows {
  ConstRows coefficients;
  ConstRows ntt;
  const LiftTable* to_rest;
};

/// Some of the target limbs of a key switch that follow each other.
struct LimbWindow {
  std::size_t first, count;  // places in SwitchSource::limbs
};

/// Rows of a key for a window of target limbs, wherever they are: of digit d at the window's limb i, [d * count + i].
struct KeyRows {
  std::span<const Word* const> b, a;
  std::uint64_t galois_element;  // 1: no automorphism
};

/// What is common to all keys of one decomposed value.
struct SwitchSource {
  std::span<const std::uint16_t> limbs;  // target: P limbs, then Q limbs ascending
  std::size_t num_special;               // how many of them are P limbs
  std::span<const DigitRows> digits;
  const ConstRows* rest;                  // the polys not switched, over the Q limbs of `limbs`; may be null
  std::span<const Word> special_product;  // P mod each Q limb of `limbs`
};

/// One product of a linear transform: giant `giant` has plain * baby `baby` in its sum.
struct DiagonalTerm {
  std::uint32_t baby, giant;
  ConstRows plain;  // one poly over the target limbs
};

class Queue;  // the ring's tables and threads, see device.hpp

struct Kernels {
  // Negacyclic transforms. Position j of the NTT holds the value at psi^(2*bitrev(j)+1).
  void (*ntt)(Queue& q, Rows out, ConstRows x) noexcept;
  void (*intt)(Queue& q, Rows out, ConstRows x) noexcept;

  void (*copy)(Queue& q, Rows out, ConstRows x) noexcept;
  void (*zero)(Queue& q, Rows out) noexcept;
  // X^exponent in the coefficient domain, exponent < 2N.
  void (*monomial)(Queue& q, Rows out, std::uint64_t exponent) noexcept;

  // Pointwise, modulo each row's limb. An input with polys == 1 is broadcast over out.polys.
  void (*add)(Queue& q, Rows out, ConstRows a, ConstRows b) noexcept;
  void (*sub)(Queue& q, Rows out, ConstRows a, ConstRows b) noexcept;
  void (*neg)(Queue& q, Rows out, ConstRows a) noexcept;
  void (*mul)(Queue& q, Rows out, ConstRows a, ConstRows b) noexcept;
  void (*mul_add)(Queue& q, Rows out, ConstRows a, ConstRows b) noexcept;  // out += a * b
  // Products of a0 + a1 X and b0 + b1 X: out (3 polys) = a0 b0, a0 b1 + a1 b0, a1 b1. The operands may be the same
  // rows; out aliases none.
  void (*tensor)(Queue& q, Rows out, ConstRows a, ConstRows b) noexcept;
  // scalars: one canonical integer per limb of out.
  void (*mul_scalar)(Queue& q, Rows out, ConstRows a, std::span<const Word> scalars) noexcept;
  void (*add_scalar)(Queue& q, Rows out, ConstRows a, std::span<const Word> scalars) noexcept;
  // out = (a - b) * scalar: the tail of mod_down and rescale.
  void (*sub_scale)(Queue& q, Rows out, ConstRows a, ConstRows b, std::span<const Word> scalars) noexcept;
  // out = sum_i a[i] * b[i]; key inner product and plaintext multiply-accumulate. Terms broadcast
  // like pointwise inputs. No aliasing.
  void (*dot)(Queue& q, Rows out, std::span<const ConstRows> a, std::span<const ConstRows> b) noexcept;

  // x -> x(X^g) in the NTT domain, g odd and < 2N. No aliasing.
  void (*automorphism)(Queue& q, Rows out, ConstRows a, std::uint64_t galois_element) noexcept;

  // Base conversion, coefficient domain. in.limbs holds every limb of table.from, in any order (rows of other
  // limbs are not read); out.limbs == table.to. With
  // y_j = centred(x * (D/q_j)^-1 mod q_j), v = fma(double(y_j), reciprocal_j, v) for j ascending
  // from v = 0, u = rint(v): out = sum_j y_j * (D/q_j) - u * D. No aliasing.
  void (*lift)(Queue& q, Rows out, ConstRows in, const LiftTable& table) noexcept;

  // Fused key switching, limb by limb where the backend can, so that extended digits need not be stored.
  // `scratch` is memory of the device, of at least as many words as the entry of the same name below asks for. Keys
  // come in windows of limbs: a call makes those of `out` (views over all source.limbs). The windows of a source follow
  // each other from limb 0 on, with one scratch, for which the first prepares the digits; no window changes a result.
  //
  // out[k] (2 polys over source.limbs) = automorphism_k( sum_d digit_d * keys[k](b, a) + P * rest ). No aliasing.
  void (*key_switch)(Queue& q, std::span<const Rows> out, const SwitchSource& source, LimbWindow window,
                     std::span<const KeyRows> keys, std::span<Word> scratch) noexcept;
  // The inner sums of a linear transform. Baby 0 is P * self (both polys, over the Q limbs of source.limbs), baby k the
  // result of keys[k - 1]: out[g] (2 polys over source.limbs) = sum over terms of giant g of plain * baby; zero if
  // there is none. No aliasing.
  void (*diag_sums)(Queue& q, std::span<const Rows> out, const SwitchSource& source, LimbWindow window, ConstRows self,
                    std::span<const KeyRows> keys, std::span<const DiagonalTerm> terms,
                    std::span<Word> scratch) noexcept;
  // out = (x - ntt(lift(removed))) * inverse. x and out have the same limbs, which are table.to, in NTT form; removed
  // has those of table.from, in coefficient form. inverse: one canonical integer per limb. out may alias x.
  void (*mod_down)(Queue& q, Rows out, ConstRows x, ConstRows removed, const LiftTable& table,
                   std::span<const Word> inverse, std::span<Word> scratch) noexcept;
  // Words of scratch that these calls use.
  std::size_t (*key_switch_scratch)(Queue& q, const SwitchSource& source, std::size_t num_keys) noexcept;
  std::size_t (*diag_sums_scratch)(Queue& q, const SwitchSource& source, std::size_t num_keys,
                                   std::size_t num_giants) noexcept;
  std::size_t (*mod_down_scratch)(Queue& q, std::uint32_t polys, const LiftTable& table) noexcept;

  // Signed integers of magnitude < 2^62 to residues (coefficient domain), one poly.
  void (*import_signed)(Queue& q, Rows out, std::span<const std::int64_t> coefficients) noexcept;
  // The same of integers that are on the device, in whichever width.
  void (*import_integers)(Queue& q, Rows out, const IntegerRow& in) noexcept;
  // ntt of those; of mirrored ones in half the work, where the backend can.
  void (*ntt_integers)(Queue& q, Rows out, const IntegerRow& in) noexcept;
  // The only ways in and out of the backend's encoding. import returns false if a residue is not < q.
  bool (*import_residues)(Queue& q, Rows out, const PackedRows& canonical) noexcept;
  void (*export_residues)(Queue& q, const PackedRowsOut& canonical, ConstRows in) noexcept;
  // Uniform residues by the position-indexed expansion of UniformStream (see ring/uniform.hpp), one poly.
  void (*expand_uniform)(Queue& q, Rows out, const UniformStream& stream) noexcept;
  // Both halves of a seeded value, one poly each of the same limbs: what import_residues makes of `canonical`, and what
  // expand_uniform makes of the stream. Together they take less time than one after the other.
  bool (*import_seeded)(Queue& q, Rows stored, Rows expanded, const PackedRows& canonical,
                        const UniformStream& stream) noexcept;

  // Canonical embedding on n slots (n a power of two <= N/2), natural slot order, in place:
  // slot j is the value at zeta_(4n)^(5^j). embed: n packed coefficients -> slots;
  // unembed: slots -> coefficients (includes 1/n), where word i packs coefficient i (real part)
  // and i + n (imaginary part) of the degree-2n subring. A fixed graph of float64 operations.
  void (*embed)(Queue& q, std::span<std::complex<double>> values) noexcept;
  void (*unembed)(Queue& q, std::span<std::complex<double>> values) noexcept;
};

}  // namespace lw
