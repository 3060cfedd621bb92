// Products of matrices of ciphertexts, term by term: what `bench xehe` times.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/ring_arrays.hpp"
#include "bindings/rlwe_types.hpp"
#include "math/error.hpp"
#include "rlwe/device_secrets.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using Shape = std::array<std::uint32_t, 3>;  // rows of A, columns of A, columns of B
using Residues = std::shared_ptr<const RnsPolys>;

/// sum += a b for polynomials by the way that is asked for.
class TermByTerm {
 public:
  TermByTerm(const Context& context, const LimbList& limbs, bool is_fused)
      : context_(context), limbs_(limbs), is_fused_(is_fused) {}

  RnsPolys zero() const {
    RnsPolys polys(ring(), limbs_, 3);
    ring().kernels().zero(ring().queue(), polys.view());
    return polys;
  }

  /// The tensor product of two pairs: four products of polynomials.
  void add_product(RnsPolys& sum, const RnsPolys& a, const RnsPolys& b) const {
    for (std::uint32_t i = 0; i < 2; ++i) {
      for (std::uint32_t j = 0; j < 2; ++j) add(of(sum, i + j), of(a, i), of(b, j));
    }
  }

 private:
  const Ring& ring() const noexcept { return context_.ring(); }
  LimbView of(RnsPolys& x, std::uint32_t poly) const noexcept { return x.view(poly, 1, 0, limbs_.size()); }
  ConstLimbView of(const RnsPolys& x, std::uint32_t poly) const noexcept { return x.view(poly, 1, 0, limbs_.size()); }

  void add(const LimbView& sum, const ConstLimbView& a, const ConstLimbView& b) const {
    const Kernels& kernels = ring().kernels();
    Queue& queue = ring().queue();
    if (is_fused_) return kernels.mul_add(queue, sum, a, b);
    RnsPolys product(ring(), limbs_, 1);
    kernels.mul(queue, product.view(), a, b);
    kernels.add(queue, sum, sum, std::as_const(product).view());
  }

  const Context& context_;
  const LimbList& limbs_;
  const bool is_fused_;
};

/// All elements at once, some 64 MiB of them at a time, where the device can; see ClientKernels.
std::vector<RnsPolys> multiply_at_once(const Context& context, const ClientKernels& client, const LimbList& limbs,
                                       std::span<const ConstLimbView> left, std::span<const ConstLimbView> right,
                                       const Shape& shape) {
  const auto [m, k, n] = shape;
  const Ring& ring = context.ring();
  const std::size_t count = std::size_t{m} * n, most = messages_at_once(3 * limbs.size() * ring.stride());
  std::vector<RnsPolys> elements;
  for (std::size_t first = 0; first < count; first += most) {
    const auto now = static_cast<std::uint32_t>(std::min(most, count - first));
    RnsPolys made(ring, limbs, 3 * now);
    client.matrix_product(ring.queue(), made.view(), left, right, k, first);
    for (std::uint32_t i = 0; i < now; ++i) elements.push_back(made.part(3 * i, 3));
  }
  return elements;
}

std::vector<RnsPolys> multiply_terms(const Context& context, const LimbList& limbs, std::span<const Residues> left,
                                     std::span<const Residues> right, const Shape& shape, bool is_fused) {
  const auto [m, k, n] = shape;
  const TermByTerm terms(context, limbs, is_fused);
  std::vector<RnsPolys> elements;
  for (std::uint32_t i = 0; i < m; ++i) {
    for (std::uint32_t j = 0; j < n; ++j) {
      RnsPolys sum = terms.zero();
      for (std::uint32_t t = 0; t < k; ++t) terms.add_product(sum, *left[i * k + t], *right[t * n + j]);
      elements.push_back(std::move(sum));
    }
  }
  return elements;
}

std::vector<PyCiphertext> matrix_product(std::shared_ptr<const Context> context, const std::vector<PyCiphertext>& left,
                                         const std::vector<PyCiphertext>& right, const Shape& shape,
                                         const std::string& way) {
  const auto [m, k, n] = shape;
  require(k != 0 && left.size() == std::size_t{m} * k && right.size() == std::size_t{k} * n, ErrorKind::kValue,
          "the numbers of ciphertexts are not those of the shape");
  for (const std::vector<PyCiphertext>* factors : {&left, &right}) {
    for (const PyCiphertext& x : *factors) {
      require(x.value.degree() == 1 && x.value.level == left[0].value.level && x.value.basis == Basis::kQ,
              ErrorKind::kValue, "ciphertexts are to be of degree 1, and at one level");
    }
  }
  const nb::gil_scoped_release released;
  const LimbList limbs = context->limbs(left[0].value.level, Basis::kQ);
  std::vector<Residues> here[2];
  std::vector<ConstLimbView> views[2];
  for (const std::size_t side : {0, 1}) {
    for (const PyCiphertext& x : side == 0 ? left : right) {
      const Residues& polys = here[side].emplace_back(context->here(x.value.residues));
      views[side].push_back(std::as_const(*polys).view());
    }
  }
  const ClientKernels* const client = way == "at once" ? context->ring().backend().client() : nullptr;
  require(way != "at once" || client != nullptr, ErrorKind::kValue, "only devices multiply at once");
  std::vector<RnsPolys> elements = client != nullptr
                                       ? multiply_at_once(*context, *client, limbs, views[0], views[1], shape)
                                       : multiply_terms(*context, limbs, here[0], here[1], shape, way == "fused");
  std::vector<PyCiphertext> result;
  for (std::size_t e = 0; e < elements.size(); ++e) {
    Ciphertext& element = result.emplace_back(PyCiphertext{context, left[e / n * k].value}).value;
    element.residues = std::make_shared<const RnsPolys>(std::move(elements[e]));
    element.scale *= right[e % n].value.scale;
    element.seed.reset();
  }
  return result;
}

}  // namespace

void bind_matrix_products(nb::module_& m) {
  m.def("matrix_product", &matrix_product, "context"_a, "left"_a, "right"_a, "shape"_a, "way"_a,
        "A B for matrices of ciphertexts of degree 1, row by row; elements have degree 2. shape: rows of A, columns of "
        "A, columns of B. way: \"fused\", one reduction for a product and its addition; \"in two\", one each; or on "
        "devices "
        "\"at once\", all elements by one kernel.");
}

}  // namespace lw
