// Rings and their kernels on NumPy arrays of canonical residues, shaped (polys, limbs, N).
// This is what the conformance suite drives: arrays are copied in and out through the
// backend's import and export, so every backend answers in the same words.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "backend/gpu/transform.hpp"
#include "backend/matmul_way.hpp"
#include "bindings/bindings.hpp"
#include "bindings/ring_arrays.hpp"
#include "math/double_double.hpp"
#include "math/error.hpp"
#include "math/primes.hpp"
#include "ring/integers.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using Coefficients = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Slots = nb::ndarray<const std::complex<double>, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using IntegerMatrix = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using SlotsResult = nb::ndarray<nb::numpy, std::complex<double>, nb::ndim<1>>;

void check_scalars(const Ring& ring, const LimbList& limbs, const std::vector<Word>& scalars) {
  require(scalars.size() == limbs.size(), ErrorKind::kShape,
          std::to_string(scalars.size()) + " scalars for " + std::to_string(limbs.size()) + " limbs; give one each");
  for (std::size_t j = 0; j < limbs.size(); ++j) {
    require(scalars[j] < ring.modulus(limbs[j]).value(), ErrorKind::kValue,
            "scalar " + std::to_string(scalars[j]) + " is not below the prime of limb " + std::to_string(limbs[j]));
  }
}

std::uint32_t joint_polys(std::initializer_list<const RnsPolys*> operands) {
  std::uint32_t polys = 1;
  for (const RnsPolys* operand : operands) polys = std::max(polys, operand->polys());
  for (const RnsPolys* operand : operands) {
    require(operand->polys() == polys || operand->polys() == 1, ErrorKind::kShape,
            std::to_string(operand->polys()) + " polys do not combine with " + std::to_string(polys) +
                "; operands have equally many, or one");
  }
  return polys;
}

/// Calls a kernel of one operand. in_place: the result is written over it.
template <auto kKernel>
Result unary(const Ring& ring, const ResidueArray& a, const LimbList& limbs, bool in_place) {
  RnsPolys x = load(ring, a, limbs);
  if (!in_place) {
    return compute(ring, limbs, x.polys(),
                   [&](Queue& queue, LimbView out) { (ring.kernels().*kKernel)(queue, out, x.view()); });
  }
  {
    const nb::gil_scoped_release release;
    (ring.kernels().*kKernel)(ring.queue(), x.view(), x.view());
  }
  return store(ring, x);
}

Result zero(const Ring& ring, const LimbList& limbs, std::uint32_t polys) {
  return compute(ring, limbs, polys, [&](Queue& queue, LimbView out) { ring.kernels().zero(queue, out); });
}

Result monomial(const Ring& ring, std::uint64_t exponent, const LimbList& limbs) {
  require(exponent < 2 * std::uint64_t{ring.degree()}, ErrorKind::kValue,
          "monomial: exponent " + std::to_string(exponent) + " is not below 2N = " + std::to_string(2 * ring.degree()));
  return compute(ring, limbs, 1, [&](Queue& queue, LimbView out) { ring.kernels().monomial(queue, out, exponent); });
}

template <auto kKernel>
Result binary(const Ring& ring, const ResidueArray& a, const ResidueArray& b, const LimbList& limbs) {
  const RnsPolys x = load(ring, a, limbs), y = load(ring, b, limbs);
  return compute(ring, limbs, joint_polys({&x, &y}),
                 [&](Queue& queue, LimbView out) { (ring.kernels().*kKernel)(queue, out, x.view(), y.view()); });
}

template <auto kKernel>
Result with_scalars(const Ring& ring, const ResidueArray& a, const std::vector<Word>& scalars, const LimbList& limbs) {
  const RnsPolys x = load(ring, a, limbs);
  check_scalars(ring, limbs, scalars);
  return compute(ring, limbs, x.polys(),
                 [&](Queue& queue, LimbView out) { (ring.kernels().*kKernel)(queue, out, x.view(), scalars); });
}

template <auto kKernel>
Result accumulate(const Ring& ring, const ResidueArray& sum, const ResidueArray& a, const ResidueArray& b,
                  const LimbList& limbs) {
  RnsPolys out = load(ring, sum, limbs);
  const RnsPolys x = load(ring, a, limbs), y = load(ring, b, limbs);
  require(joint_polys({&out, &x, &y}) == out.polys(), ErrorKind::kShape, "the sum has fewer polys than a * b");
  {
    const nb::gil_scoped_release release;
    (ring.kernels().*kKernel)(ring.queue(), out.view(), x.view(), y.view());
  }
  return store(ring, out);
}

Result tensor_product(const Ring& ring, const ResidueArray& a, const ResidueArray& b, const LimbList& limbs) {
  const RnsPolys x = load(ring, a, limbs), y = load(ring, b, limbs);
  require(x.polys() == 2 && y.polys() == 2, ErrorKind::kShape, "tensor_product: operands have two polys each");
  return compute(ring, limbs, 3, [&](Queue& queue, LimbView out) {
    ring.kernels().tensor_product(queue, out, std::as_const(x).view(), std::as_const(y).view());
  });
}

template <auto kKernel>
Result both_with_scalars(const Ring& ring, const ResidueArray& a, const ResidueArray& b,
                         const std::vector<Word>& scalars, const LimbList& limbs) {
  const RnsPolys x = load(ring, a, limbs), y = load(ring, b, limbs);
  check_scalars(ring, limbs, scalars);
  return compute(ring, limbs, joint_polys({&x, &y}), [&](Queue& queue, LimbView out) {
    (ring.kernels().*kKernel)(queue, out, x.view(), y.view(), scalars);
  });
}

Result run_weighted_sum(const Ring& ring, const std::vector<ResidueArray>& a, const std::vector<Word>& weights,
                        const LimbList& limbs) {
  require(!a.empty() && weights.size() == 2 * a.size() * limbs.size(), ErrorKind::kShape,
          "weighted_sum: " + std::to_string(weights.size()) + " weights for " + std::to_string(a.size()) +
              " terms of " + std::to_string(limbs.size()) + " limbs, which need two each");
  std::vector<RnsPolys> owners;
  std::vector<ConstLimbView> terms;
  for (const ResidueArray& array : a) owners.push_back(load(ring, array, limbs));
  for (const RnsPolys& owner : owners) {
    require(owner.polys() == owners[0].polys(), ErrorKind::kShape, "weighted_sum: terms have different polys");
    terms.push_back(owner.view());
  }
  for (std::size_t k = 0; k < weights.size(); ++k) {
    require(weights[k] < ring.modulus(limbs[k / 2 % limbs.size()]).value(), ErrorKind::kValue,
            "weighted_sum: a weight is not a residue");
  }
  return compute(ring, limbs, owners[0].polys(),
                 [&](Queue& queue, LimbView out) { ring.kernels().weighted_sum(queue, out, terms, weights); });
}

/// The weights of rows, one term after the other, if all are small enough.
std::vector<std::int32_t> matmul_weights(const IntegerMatrix& weights) {
  const std::size_t rows = weights.shape(0), terms = weights.shape(1);
  std::vector<std::int32_t> by_terms(rows * terms);
  for (std::size_t k = 0; k < rows * terms; ++k) {
    const std::int64_t weight = weights.data()[k];
    require(-kMostMatmulWeight <= weight && weight <= kMostMatmulWeight, ErrorKind::kRange,
            "integer_matmul: weight " + std::to_string(weight) + " at row " + std::to_string(k / terms) + ", column " +
                std::to_string(k % terms) + " is above 2^24 in magnitude; give its matrix a smaller scale");
    by_terms[k % terms * rows + k / terms] = static_cast<std::int32_t>(weight);
  }
  return by_terms;
}

std::vector<Result> run_integer_matmul(const Ring& ring, const IntegerMatrix& weights,
                                       const std::vector<ResidueArray>& a, const LimbList& limbs) {
  check_limbs(ring, limbs);
  require(weights.shape(1) == a.size(), ErrorKind::kShape,
          "integer_matmul: a matrix of " + std::to_string(weights.shape(1)) + " columns for " +
              std::to_string(a.size()) + " terms; give a term for each column");
  const std::vector<std::int32_t> by_terms = matmul_weights(weights);
  std::vector<RnsPolys> owners, rows;
  std::vector<ConstLimbView> terms;
  std::vector<LimbView> out;
  for (const ResidueArray& array : a) owners.push_back(load(ring, array, limbs));
  for (const RnsPolys& owner : owners) {
    require(owner.polys() == owners[0].polys(), ErrorKind::kShape, "integer_matmul: terms have different polys");
    terms.push_back(owner.view());
  }
  for (std::size_t r = 0; r < weights.shape(0); ++r) rows.emplace_back(ring, limbs, a.empty() ? 1 : owners[0].polys());
  for (RnsPolys& row : rows) out.push_back(row.view());
  {
    const nb::gil_scoped_release release;
    ring.kernels().integer_matmul(ring.queue(), out, terms, by_terms);
  }
  std::vector<Result> results;
  for (const RnsPolys& row : rows) results.push_back(store(ring, row));
  return results;
}

/// How `integer_matmul` multiplies modulo a prime on processors.
std::pair<std::size_t, std::size_t> integer_matmul_way(std::uint64_t prime, std::int64_t largest) {
  require(prime >= 3 && prime < std::uint64_t{1} << 50, ErrorKind::kRange,
          "integer_matmul_way: prime " + std::to_string(prime) + " is not below 2^50");
  require(0 <= largest && largest <= kMostMatmulWeight, ErrorKind::kRange,
          "integer_matmul_way: weights up to " + std::to_string(largest) + " are above 2^24");
  const MatmulWay way = matmul_way(prime, static_cast<std::int32_t>(largest));
  return {way.parts, way.terms};
}

Result run_dot(const Ring& ring, const std::vector<ResidueArray>& a, const std::vector<ResidueArray>& b,
               const LimbList& limbs) {
  require(a.size() == b.size() && !a.empty(), ErrorKind::kShape,
          "dot: " + std::to_string(a.size()) + " factors against " + std::to_string(b.size()));
  std::vector<RnsPolys> owners;
  std::vector<ConstLimbView> left, right;
  std::uint32_t polys = 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (const ResidueArray* array : {&a[i], &b[i]}) {
      owners.push_back(load(ring, *array, limbs));
      polys = std::max(polys, owners.back().polys());
    }
  }
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const RnsPolys& owner = owners[i];
    require(owner.polys() == polys || owner.polys() == 1, ErrorKind::kShape,
            "dot: factors have " + std::to_string(owner.polys()) + " and " + std::to_string(polys) + " polys");
    (i % 2 == 0 ? left : right).push_back(owner.view());
  }
  return compute(ring, limbs, polys, [&](Queue& queue, LimbView out) { ring.kernels().dot(queue, out, left, right); });
}

Result automorphism(const Ring& ring, const ResidueArray& a, std::uint64_t galois_element, const LimbList& limbs) {
  require(galois_element % 2 == 1 && galois_element < 2 * ring.degree(), ErrorKind::kValue,
          "galois_element " + std::to_string(galois_element) + " is not odd and below 2N");
  const RnsPolys x = load(ring, a, limbs);
  return compute(ring, limbs, x.polys(), [&](Queue& queue, LimbView out) {
    ring.kernels().automorphism(queue, out, x.view(), galois_element);
  });
}

Result base_convert(const Ring& ring, const ResidueArray& a, const LimbList& from, const LimbList& to) {
  const RnsPolys x = load(ring, a, from);
  check_limbs(ring, to);
  for (const std::uint16_t limb : from) {
    require(std::count(from.begin(), from.end(), limb) == 1, ErrorKind::kValue,
            "base_convert: source limb " + std::to_string(limb) + " is given more than once");
  }
  const BaseConversionTable& table = ring.base_conversion_table(from, to);
  return compute(ring, to, x.polys(),
                 [&](Queue& queue, LimbView out) { ring.kernels().base_convert(queue, out, x.view(), table); });
}

Result import_signed(const Ring& ring, const Coefficients& coefficients, const LimbList& limbs) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 62;
  const std::span values(coefficients.data(), coefficients.size());
  require(values.size() == ring.degree(), ErrorKind::kShape,
          std::to_string(values.size()) + " coefficients for a ring of degree " + std::to_string(ring.degree()));
  require(std::all_of(values.begin(), values.end(), [](std::int64_t x) { return -kLimit < x && x < kLimit; }),
          ErrorKind::kRange, "a coefficient is not below 2^62 in magnitude");
  return compute(ring, limbs, 1, [&](Queue& queue, LimbView out) { ring.kernels().import_signed(queue, out, values); });
}

/// Calls a kernel that reads integers on the device; in 32 bits each where all are small enough, and by half of them
/// where they are mirrored.
template <auto kKernel>
Result of_integers(const Ring& ring, const Coefficients& coefficients, const LimbList& limbs) {
  const std::span values(coefficients.data(), coefficients.size());
  require(std::has_single_bit(values.size()) && values.size() <= ring.degree(), ErrorKind::kShape,
          std::to_string(values.size()) + " integers for a ring of degree " + std::to_string(ring.degree()) +
              "; give a power of two of them up to that");
  const Integers integers(ring, values);
  return compute(ring, limbs, 1,
                 [&](Queue& queue, LimbView out) { (ring.kernels().*kKernel)(queue, out, integers.view()); });
}

Result import_residues(const Ring& ring, const nb::bytes& data, const std::vector<std::uint8_t>& widths,
                       const LimbList& limbs, std::uint32_t polys) {
  return store(ring, import_packed(ring, data.data(), data.size(), widths, limbs, polys));
}

nb::bytes export_residues(const Ring& ring, const ResidueArray& a, const std::vector<std::uint8_t>& widths,
                          const LimbList& limbs) {
  const RnsPolys x = load(ring, a, limbs);
  require(widths.size() == limbs.size(), ErrorKind::kShape,
          std::to_string(widths.size()) + " widths for " + std::to_string(limbs.size()) + " limbs; give one each");
  std::string bytes(packed_offsets(ring, widths, x.polys()).back(), '\0');
  export_packed(ring, bytes.data(), widths, x);
  return nb::bytes(bytes.data(), bytes.size());
}

/// The name of a stream of random words, as Python gives it.
struct StreamName {
  std::array<std::uint8_t, 32> seed;
  std::uint32_t domain;
  std::uint64_t object;
  std::uint32_t digit;

  StreamName(const nb::bytes& bytes, std::uint32_t of, std::uint64_t number, std::uint32_t part)
      : domain(of), object(number), digit(part) {
    require(bytes.size() == seed.size(), ErrorKind::kValue,
            "a seed has 32 bytes; " + std::to_string(bytes.size()) + " are given");
    std::copy_n(static_cast<const std::uint8_t*>(bytes.data()), seed.size(), seed.begin());
  }
  UniformStream stream() const noexcept { return {seed, domain, object, digit}; }
};

Result expand_uniform(const Ring& ring, const nb::bytes& seed, std::uint32_t domain, std::uint64_t object,
                      std::uint32_t digit, const LimbList& limbs) {
  const StreamName name(seed, domain, object, digit);
  return compute(ring, limbs, 1,
                 [&](Queue& queue, LimbView out) { ring.kernels().expand_uniform(queue, out, name.stream()); });
}

Result import_seeded(const Ring& ring, const nb::bytes& data, const std::vector<std::uint8_t>& widths,
                     const LimbList& limbs, const nb::bytes& seed, std::uint32_t domain, std::uint64_t object,
                     std::uint32_t digit) {
  check_limbs(ring, limbs);
  const StreamName name(seed, domain, object, digit);
  const std::vector<std::size_t> offsets = checked_offsets(ring, data.size(), widths, limbs, 1);
  RnsPolys residues(ring, limbs, 2);
  bool all_reduced = false;
  {
    const nb::gil_scoped_release release;
    all_reduced = ring.import_seeded(residues.view(0, 1, 0, limbs.size()), residues.view(1, 1, 0, limbs.size()),
                                     {static_cast<const std::byte*>(data.data()), offsets, widths}, name.stream());
  }
  require_reduced(all_reduced);
  return store(ring, residues);
}

template <auto kKernel>
SlotsResult transform_slots(const Ring& ring, const Slots& slots) {
  const std::size_t n = slots.size();
  require(std::has_single_bit(n) && n <= ring.degree() / 2, ErrorKind::kShape,
          std::to_string(n) + " slots are not a power of two up to N/2 = " + std::to_string(ring.degree() / 2));
  auto data = std::make_unique_for_overwrite<std::complex<double>[]>(n);
  std::copy_n(slots.data(), n, data.get());
  {
    const nb::gil_scoped_release release;
    (ring.kernels().*kKernel)(ring.queue(), {data.get(), n});
  }
  std::complex<double>* values = data.get();
  return SlotsResult(values, {n}, own(data));
}

std::vector<std::uint64_t> primes_near_float(double target, std::uint64_t two_n, std::size_t count) {
  require(target >= 1.0 && target < 0x1p60, ErrorKind::kValue, "primes_near: the target must lie between 1 and 2^60");
  return primes_near(static_cast<std::uint64_t>(std::llround(target)), two_n, count);
}

void require_turn(const char* of, std::uint64_t m, unsigned most_bits) {
  require(std::has_single_bit(m) && m >= 8 && m <= std::uint64_t{1} << most_bits, ErrorKind::kValue,
          std::string(of) + ": m = " + std::to_string(m) + " is not a power of two between 8 and 2^" +
              std::to_string(most_bits));
}

std::pair<double, double> cos_sin(std::uint64_t k, std::uint64_t m) {
  require_turn("cos_sin_turn", m, 32);
  const CosSin result = cos_sin_turn(k, m);
  return {result.cos, result.sin};
}

SlotsResult roots_of_unity(std::uint64_t m) {
  require_turn("roots_of_unity", m, 24);
  const std::vector<CosSin> all = cos_sin_turns(m);
  auto data = std::make_unique_for_overwrite<std::complex<double>[]>(m);
  std::transform(all.begin(), all.end(), data.get(), [](const CosSin& x) { return std::complex(x.cos, x.sin); });
  std::complex<double>* values = data.get();
  return SlotsResult(values, {m}, own(data));
}

using RingClass = nb::class_<Ring>;

void bind_ntt(RingClass& ring) { ring.def("ntt", &unary<&Kernels::ntt>, "a"_a, "limbs"_a, "in_place"_a = false); }
void bind_intt(RingClass& ring) { ring.def("intt", &unary<&Kernels::intt>, "a"_a, "limbs"_a, "in_place"_a = false); }
void bind_copy(RingClass& ring) { ring.def("copy", &unary<&Kernels::copy>, "a"_a, "limbs"_a, "in_place"_a = false); }
void bind_zero(RingClass& ring) { ring.def("zero", &zero, "limbs"_a, "polys"_a); }
void bind_monomial(RingClass& ring) { ring.def("monomial", &monomial, "exponent"_a, "limbs"_a); }
void bind_tensor_product(RingClass& ring) { ring.def("tensor_product", &tensor_product, "a"_a, "b"_a, "limbs"_a); }
void bind_weighted_sum(RingClass& ring) { ring.def("weighted_sum", &run_weighted_sum, "a"_a, "weights"_a, "limbs"_a); }
void bind_integer_matmul(RingClass& ring) {
  ring.def("integer_matmul", &run_integer_matmul, "weights"_a, "a"_a, "limbs"_a);
}
void bind_dot(RingClass& ring) { ring.def("dot", &run_dot, "a"_a, "b"_a, "limbs"_a); }
void bind_automorphism(RingClass& ring) {
  ring.def("automorphism", &automorphism, "a"_a, "galois_element"_a, "limbs"_a);
}
void bind_base_convert(RingClass& ring) {
  ring.def("base_convert", &base_convert, "a"_a, "from_limbs"_a, "to_limbs"_a);
}
void bind_import_signed(RingClass& ring) { ring.def("import_signed", &import_signed, "coefficients"_a, "limbs"_a); }
void bind_import_integers(RingClass& ring) {
  ring.def("import_integers", &of_integers<&Kernels::import_integers>, "coefficients"_a, "limbs"_a);
}
void bind_ntt_integers(RingClass& ring) {
  ring.def("ntt_integers", &of_integers<&Kernels::ntt_integers>, "coefficients"_a, "limbs"_a);
}
void bind_import_residues(RingClass& ring) {
  ring.def("import_residues", &import_residues, "data"_a, "widths"_a, "limbs"_a, "polys"_a);
}
void bind_export_residues(RingClass& ring) {
  ring.def("export_residues", &export_residues, "a"_a, "widths"_a, "limbs"_a);
}
void bind_expand_uniform(RingClass& ring) {
  ring.def("expand_uniform", &expand_uniform, "seed"_a, "domain"_a, "object"_a, "digit"_a, "limbs"_a);
}
void bind_import_seeded(RingClass& ring) {
  ring.def("import_seeded", &import_seeded, "data"_a, "widths"_a, "limbs"_a, "seed"_a, "domain"_a, "object"_a,
           "digit"_a);
}
void bind_embed(RingClass& ring) { ring.def("embed", &transform_slots<&Kernels::embed>, "coefficients"_a); }
void bind_unembed(RingClass& ring) { ring.def("unembed", &transform_slots<&Kernels::unembed>, "slots"_a); }

void bind_primes(nb::module_& m) {
  m.def("is_prime", &is_prime, "n"_a, "Whether an integer below 2^64 is prime; exact.");
  m.def("primes_near", &primes_near, "target"_a, "two_n"_a, "count"_a,
        "The `count` primes = 1 mod two_n with the smallest |log(p / target)|, nearest first.");
  m.def("primes_near", &primes_near_float, "target"_a, "two_n"_a, "count"_a);
  m.def("smallest_primitive_root", &smallest_primitive_root, "q"_a, "two_n"_a,
        "The smallest primitive two_n-th root of unity modulo the prime q = 1 mod two_n.");
  m.def("cos_sin_turn", &cos_sin, "k"_a, "m"_a, "(cos, sin) of 2*pi*k/m, correctly rounded; m a power of two.");
  m.def("roots_of_unity", &roots_of_unity, "m"_a, "exp(2 pi i k / m) for every k < m, correctly rounded.");
}

}  // namespace

void bind_kernels(nb::module_& m) {
  bind_primes(m);
  m.def("backend_names", &backend_names, "Backends that run on this machine, fastest first.");
  m.def("backend_variants", &backend_variants, "of"_a,
        "(name, whether this machine has the instructions) of backends that are one of the others with fixed ones.");
  m.def("transform_names",
        [] { return std::vector<std::string>(gpu::kTransformNames.begin(), gpu::kTransformNames.end()); });

  m.def("integer_matmul_way", &integer_matmul_way, "prime"_a, "largest_weight"_a,
        "(multiply-adds for each product, products of a sum that need no reduction) of Ring.integer_matmul on a "
        "processor.");

  nb::class_<Ring> ring(
      m, "Ring",
      "Z[X]/(X^N + 1) modulo numbered primes, on one backend. Arrays are uint64 of canonical residues, "
      "shaped (polys, limbs, N); limb j is modulo prime number limbs[j].");
  ring.def(nb::init<std::uint32_t, std::vector<std::uint64_t>, std::string_view, unsigned>(), "ring_degree"_a,
           "primes"_a, "backend"_a = "auto", "threads"_a = 0)
      .def_prop_ro("degree", &Ring::degree)
      .def_prop_ro("primes",
                   [](const Ring& ring) {
                     std::vector<std::uint64_t> primes;
                     for (std::size_t i = 0; i < ring.num_limbs(); ++i) primes.push_back(ring.modulus(i).value());
                     return primes;
                   })
      .def_prop_ro("backend", [](const Ring& ring) { return std::string(ring.backend().name()); })
      .def_prop_rw(
          "transform", [](const Ring& ring) { return std::string(gpu::transform_of(ring.device())); },
          [](const Ring& ring, const std::string& name) { gpu::set_transform(ring.device(), name); },
          "The form of the transforms of a ring on a GPU, one of transform_names(); all give the same results.")
      .def_prop_rw(
          "cache_bytes", [](const Ring& ring) { return gpu::cache_bytes_of(ring.device()); },
          [](const Ring& ring, std::size_t bytes) { gpu::set_cache_bytes(ring.device(), bytes); },
          "The cache that a ring on a GPU makes batches of limbs for: at first the device's. Results are the same.")
      .def(
          "allocate_and_free",
          [](const Ring& ring, std::uint64_t times) {
            const nb::gil_scoped_release released;
            const std::size_t bytes = ring.stride() * sizeof(Word);
            for (std::uint64_t i = 0; i < times; ++i) static_cast<void>(ring.device().allocate(bytes));
          },
          "times"_a, "Get memory for a limb and give it back, so many times: to be timed.")
      .def_prop_ro("live_bytes", [](const Ring& ring) { return ring.device().live_bytes(); })
      .def_prop_ro("peak_bytes", [](const Ring& ring) { return ring.device().peak_bytes(); });
#define LW_KERNEL(result, name, parameters) bind_##name(ring);
#define LW_SWITCH(result, name, parameters)
#define LW_UNARY(name) ring.def(#name, &unary<&Kernels::name>, "a"_a, "limbs"_a, "in_place"_a = false);
#define LW_BINARY(name) ring.def(#name, &binary<&Kernels::name>, "a"_a, "b"_a, "limbs"_a);
#define LW_ACCUMULATE(name) ring.def(#name, &accumulate<&Kernels::name>, "sum"_a, "a"_a, "b"_a, "limbs"_a);
#define LW_SCALAR(name) ring.def(#name, &with_scalars<&Kernels::name>, "a"_a, "scalars"_a, "limbs"_a);
#define LW_BINARY_SCALAR(name) \
  ring.def(#name, &both_with_scalars<&Kernels::name>, "a"_a, "b"_a, "scalars"_a, "limbs"_a);
#include "backend/kernels.def"
  bind_fused_kernels(ring);
}

}  // namespace lw
