// One kernel again and again on limbs that stay on the device: what calibration and the micro-benchmarks time.
// Nothing is moved in or out between the runs, and results are thrown away; the conformance suite checks values.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <bit>
#include <complex>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/multiply_adds.hpp"
#include "bindings/bindings.hpp"
#include "math/error.hpp"
#include "ring/ring.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

constexpr std::array<std::uint8_t, 32> kSeed = {};

/// The operands of a timed loop: `terms` pairs of factors over `limbs`, results over `limbs` or `to`.
struct Operands {
  const Ring& ring;
  LimbList limbs, to;
  std::vector<RnsPolys> left, right;
  RnsPolys out;
  std::vector<ConstLimbView> a, b;
  std::vector<Word> scalars;
  std::vector<std::int64_t> integers;
  std::vector<std::int32_t> weights;
  std::vector<std::complex<double>> slots, slots_out;
  std::vector<std::uint8_t> widths;
  std::vector<std::size_t> offsets;
  std::vector<std::byte> packed;

  Operands(const Ring& r, LimbList from, LimbList target, std::uint32_t terms);
  RnsPolys random(const LimbList& over, std::uint64_t object) const;
};

RnsPolys Operands::random(const LimbList& over, std::uint64_t object) const {
  RnsPolys residues(ring, over, 1);
  ring.kernels().expand_uniform(ring.queue(), residues.view(), {kSeed, 0, object, 0});
  return residues;
}

Operands::Operands(const Ring& r, LimbList from, LimbList target, std::uint32_t terms)
    : ring(r), limbs(std::move(from)), to(std::move(target)) {
  for (std::uint32_t i = 0; i < terms; ++i) {
    left.push_back(random(limbs, 2 * i));
    right.push_back(random(limbs, 2 * i + 1));
  }
  for (std::uint32_t i = 0; i < terms; ++i) {
    a.push_back(std::as_const(left[i]).view());
    b.push_back(std::as_const(right[i]).view());
  }
  out = random(to.empty() ? limbs : to, 2 * terms);
  integers.resize(ring.degree());
  for (std::size_t i = 0; i < integers.size(); ++i)
    integers[i] = static_cast<std::int64_t>(i * 0x9E3779B97F4A7C15) >> 8;
  for (std::size_t i = 0; i < ring.degree() / 2; ++i) slots.emplace_back(double(i % 7) - 3, double(i % 5) - 2);
  slots_out = slots;
  offsets = {0};
  for (const std::uint16_t limb : limbs) {
    scalars.push_back(ring.modulus(limb).value() / 3);
    widths.push_back(static_cast<std::uint8_t>(std::bit_width(ring.modulus(limb).value())));
    offsets.push_back(offsets.back() + std::size_t{ring.degree()} / 8 * widths.back());
  }
  packed.resize(offsets.back());
  ring.export_residues({packed.data(), offsets, widths}, a[0]);
}

using Step = void (*)(const Kernels&, Queue&, Operands&);

/// One pass of a loop, for every kernel of the seam.
struct Loops {
  using K = const Kernels&;

  static void ntt(K k, Queue& q, Operands& o) { k.ntt(q, o.out.view(), o.out.view()); }
  static void intt(K k, Queue& q, Operands& o) { k.intt(q, o.out.view(), o.out.view()); }
#define LW_POINTWISE(name, parameters, arguments)                     \
  static void name(K k, Queue& q, Operands& o) {                      \
    const LimbView out = o.out.view();                                \
    const ConstLimbView a = o.a[0];                                   \
    [[maybe_unused]] const ConstLimbView b = o.b[0];                  \
    [[maybe_unused]] const std::span<const Word> scalars = o.scalars; \
    k.name arguments;                                                 \
  }
#include "backend/kernels.def"
  static void dot(K k, Queue& q, Operands& o) { k.dot(q, o.out.view(), o.a, o.b); }
  static void weighted_sum(K k, Queue& q, Operands& o) {
    std::vector<Word> weights;
    for (std::size_t t = 0; t < 2 * o.a.size(); ++t) weights.insert(weights.end(), o.scalars.begin(), o.scalars.end());
    k.weighted_sum(q, o.out.view(), o.a, weights);
  }
  /// By a square matrix of weights of a byte; the rows take the place of the right factors.
  static void integer_matmul(K k, Queue& q, Operands& o) {
    for (std::uint64_t i = o.weights.size(); i < o.a.size() * o.a.size(); ++i) {
      o.weights.push_back(static_cast<std::int8_t>(i * 0x9E3779B97F4A7C15 >> 56));
    }
    std::vector<LimbView> rows;
    for (RnsPolys& row : o.right) rows.push_back(row.view());
    k.integer_matmul(q, rows, o.a, o.weights);
  }
  static void automorphism(K k, Queue& q, Operands& o) { k.automorphism(q, o.out.view(), o.a[0], 5); }
  static void base_convert(K k, Queue& q, Operands& o) {
    k.base_convert(q, o.out.view(), o.a[0], o.ring.base_conversion_table(o.limbs, o.to));
  }
  static void import_signed(K k, Queue& q, Operands& o) { k.import_signed(q, o.out.view(), o.integers); }
  static void import_residues(K k, Queue& q, Operands& o) {
    static_cast<void>(k.import_residues(q, o.out.view(), {o.packed.data(), o.offsets, o.widths}));
  }
  static void export_residues(K k, Queue& q, Operands& o) {
    k.export_residues(q, {o.packed.data(), o.offsets, o.widths}, o.a[0]);
  }
  static void expand_uniform(K k, Queue& q, Operands& o) { k.expand_uniform(q, o.out.view(), {kSeed, 0, 1, 0}); }
  static void import_seeded(K k, Queue& q, Operands& o) {
    static_cast<void>(k.import_seeded(q, o.out.view(), o.left[0].view(), {o.packed.data(), o.offsets, o.widths},
                                      {kSeed, 0, 1, 0}, nullptr));
  }
  static void embed(K k, Queue& q, Operands& o) {
    o.slots_out = o.slots;  // in place, and not the identity: values must not grow or vanish
    k.embed(q, o.slots_out);
  }
  static void unembed(K k, Queue& q, Operands& o) {
    o.slots_out = o.slots;
    k.unembed(q, o.slots_out);
  }

  // Not timed by themselves.
  static constexpr Step copy = nullptr, zero = nullptr, monomial = nullptr, tensor_product = nullptr,
                        key_switch = nullptr, diag_sums = nullptr, mod_down = nullptr, import_integers = nullptr,
                        ntt_integers = nullptr;
};

const std::map<std::string, Step>& steps() {
  static const std::map<std::string, Step> table = [] {
    std::map<std::string, Step> all = {
#define LW_SCRATCH(kernel, parameters)
#define LW_KERNEL(result, name, parameters) {#name, Loops::name},
#include "backend/kernels.def"
    };
    std::erase_if(all, [](const auto& entry) { return entry.second == nullptr; });
    return all;
  }();
  return table;
}

class KernelLoop {
 public:
  KernelLoop(const Ring& ring, const std::string& kernel, const LimbList& limbs, const LimbList& to,
             std::uint32_t terms)
      : operands_(checked(ring, kernel, limbs, to, terms), limbs, to, terms), step_(steps().at(kernel)) {}

  void run(std::uint64_t times) {
    const nb::gil_scoped_release release;
    for (std::uint64_t i = 0; i < times; ++i) step_(operands_.ring.kernels(), operands_.ring.queue(), operands_);
    operands_.ring.device().synchronise(operands_.ring.queue());
  }

 private:
  static const Ring& checked(const Ring& ring, const std::string& kernel, const LimbList& limbs, const LimbList& to,
                             std::uint32_t terms) {
    const auto fail = [](const std::string& message) { throw Error(ErrorKind::kValue, message); };
    if (!steps().contains(kernel)) fail("no kernel is called '" + kernel + "'");
    if (limbs.empty() || terms == 0) fail(kernel + ": give at least one limb and one term");
    if (to.empty() == (kernel == "base_convert")) fail(kernel + ": to_limbs are for base_convert, and for it alone");
    for (const LimbList* list : {&limbs, &to}) {
      for (const std::uint16_t limb : *list) {
        if (limb >= ring.num_limbs()) fail("limb number " + std::to_string(limb) + " does not exist");
      }
    }
    return ring;
  }

  Operands operands_;
  Step step_;
};

/// A chain of dependent shifts and exclusive ors, two cycles a step on any processor: its time gives the clock.
std::uint64_t dependent_steps(std::uint64_t steps) {
  const nb::gil_scoped_release release;
  std::uint64_t x = steps | 1;
  for (std::uint64_t i = 0; i < steps; i += 8) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      x ^= x >> 1;
      asm volatile("" : "+r"(x));  // keeps the chain as written
    }
  }
  return x;
}

/// Independent chains of fused multiply-adds on the calling thread.
std::uint64_t multiply_adds(const Ring& ring, std::uint64_t steps) {
  if (!ring.backend().name().starts_with("cpu")) {
    throw Error(ErrorKind::kValue, "multiply_adds: backend " + std::string(ring.backend().name()) + " is not cpu");
  }
  const nb::gil_scoped_release release;
  return cpu_multiply_adds(ring.queue(), steps);
}

}  // namespace

void bind_kernel_loops(nb::module_& m) {
  nb::class_<KernelLoop>(m, "KernelLoop",
                         "One kernel on random limbs of a ring, to be timed; `terms` pairs of factors for dot, "
                         "`to_limbs` for base_convert.")
      .def(nb::init<const Ring&, const std::string&, LimbList, LimbList, std::uint32_t>(), "ring"_a, "kernel"_a,
           "limbs"_a, "to_limbs"_a = LimbList{}, "terms"_a = 1, nb::keep_alive<1, 2>())
      .def("run", &KernelLoop::run, "times"_a = 1, "Run it so many times; returns when all are done.");
  m.def("kernel_names", [] {
    std::vector<std::string> names;
    for (const auto& [name, step] : steps()) names.push_back(name);
    return names;
  });
  m.def("multiply_adds", &multiply_adds, "ring"_a, "steps"_a,
        "Fused multiply-adds of float64 by the vectors of a ring on cpu, in so many steps; returns how many.");
  m.def("dependent_steps", &dependent_steps, "steps"_a, "A chain of `steps` shift-and-xor steps of two cycles each.");
}

}  // namespace lw
