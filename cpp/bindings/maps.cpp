// Counts of diagonals of linear maps in Python, on arrays of 64-bit integers.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "bindings/bindings.hpp"
#include "maps/codes.hpp"
#include "maps/key_switches.hpp"
#include "maps/pairing.hpp"
#include "maps/separable.hpp"
#include "maps/series.hpp"
#include "math/error.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace lw {
namespace {

using Integers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using IntegerResult = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;
using TableResult = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<2>>;

constexpr std::int64_t kMostSlots = std::int64_t{1} << 26;
constexpr std::int64_t kMostCode = std::int64_t{1} << 62;

std::span<const std::int64_t> numbers(const Integers& array) { return {array.data(), array.size()}; }

void require_below(std::span<const std::int64_t> values, std::int64_t limit, const char* what) {
  for (const std::int64_t value : values) {
    require(value >= 0 && value < limit, ErrorKind::kValue,
            std::string(what) + " " + std::to_string(value) + " is not from 0 to " + std::to_string(limit - 1));
  }
}

void require_slots(std::int64_t slots) {
  require(slots >= 1 && slots <= kMostSlots && (slots & (slots - 1)) == 0, ErrorKind::kValue,
          std::to_string(slots) + " slots: give a power of two up to 2^26");
}

IntegerResult to_array(std::vector<std::int64_t> values) {
  auto held = std::make_unique<std::vector<std::int64_t>>(std::move(values));
  const nb::capsule owner(held.get(),
                          [](void* vector) noexcept { delete static_cast<std::vector<std::int64_t>*>(vector); });
  std::vector<std::int64_t>* vector = held.release();
  return IntegerResult(vector->data(), {vector->size()}, owner);
}

/// (products, outputs, inputs), and columns of counts, a row for each split: hoists, babies, giants, keys by each
/// order.
nb::tuple key_switches(std::int64_t slots, const Integers& conj, const Integers& out, const Integers& in,
                       const Integers& steps, const Integers& widths, const Integers& centred, const Integers& orders,
                       bool iterated) {
  require_slots(slots);
  const std::size_t size = steps.size();
  require(conj.size() == size && out.size() == size && in.size() == size && centred.size() == widths.size(),
          ErrorKind::kShape, "columns of different lengths");
  require(orders.size() >= 1 && orders.size() <= 3, ErrorKind::kShape, "give one to three orders");
  require_below(numbers(conj), 2, "conj");
  require_below(numbers(out), kMostSlots, "output");
  require_below(numbers(in), kMostSlots, "input");
  require_below(numbers(orders), 3, "order");
  std::vector<maps::Split> splits;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    require(widths.data()[i] >= 1, ErrorKind::kValue, "a width of baby steps is at least 1");
    splits.push_back({widths.data()[i], centred.data()[i] != 0});
  }
  std::vector<maps::GiantOrder> in_order;
  for (const std::int64_t order : numbers(orders)) in_order.push_back(static_cast<maps::GiantOrder>(order));
  const maps::Places where{slots, numbers(conj), numbers(out), numbers(in), numbers(steps)};
  maps::Counted found;
  {
    const nb::gil_scoped_release released;
    found = maps::count_key_switches(where, splits, in_order, iterated);
  }
  std::vector<std::vector<std::int64_t>> rows;
  for (const maps::SwitchCounts& counts : found.splits) {
    rows.push_back({counts.hoists, counts.babies, counts.giants});
    rows.back().insert(rows.back().end(), counts.keys.begin(), counts.keys.begin() + in_order.size());
  }
  return nb::make_tuple(nb::make_tuple(found.products, found.made, found.read), rows);
}

IntegerResult partners(const Integers& steps, std::int64_t slots, const Integers& distances) {
  require_slots(slots);
  require_below(numbers(steps), slots, "steps");
  require_below(numbers(distances), slots, "distance");
  return to_array(maps::count_partners(numbers(steps), slots, numbers(distances)));
}

std::vector<std::pair<std::int64_t, std::int64_t>> pairs(const Integers& steps, std::int64_t slots,
                                                         std::int64_t apart) {
  require_slots(slots);
  require_below(numbers(steps), slots, "steps");
  require(apart > 0 && apart < slots, ErrorKind::kValue, "a distance lies between 0 and the slots");
  return maps::pair_along(numbers(steps), slots, apart);
}

IntegerResult sums(const Integers& a, const Integers& b, std::int64_t slots) {
  require_slots(slots);
  require_below(numbers(a), kMostCode, "code");
  require_below(numbers(b), kMostCode, "code");
  const nb::gil_scoped_release released;
  std::vector<std::int64_t> found = maps::sum_codes(numbers(a), numbers(b), slots);
  const nb::gil_scoped_acquire acquired;
  return to_array(std::move(found));
}

IntegerResult settle(const Integers& totals, const Table& rows, const Integers& nearest, std::int64_t spread,
                     std::int64_t pairs) {
  const auto slots = static_cast<std::int64_t>(nearest.size());
  require_slots(slots);
  const std::span<const std::int64_t> moves(rows.data(), rows.size());
  require(rows.shape(1) >= 1, ErrorKind::kShape, "rows have a move for each copy");
  require(spread >= 1 && slots % spread == 0, ErrorKind::kValue,
          std::to_string(spread) + " outputs that share sums do not divide " + std::to_string(slots) + " slots");
  require(pairs >= 1 && pairs <= kMostCode / slots / slots / spread, ErrorKind::kValue, "too many pairs of vectors");
  require_below(numbers(nearest), slots, "steps");
  require_below(numbers(totals), pairs * slots, "code");
  require_below(moves, pairs * slots, "code");
  const nb::gil_scoped_release released;
  std::vector<std::int64_t> found = maps::settle_codes(numbers(totals), moves, static_cast<std::int64_t>(rows.shape(1)),
                                                       numbers(nearest), spread, pairs);
  const nb::gil_scoped_acquire acquired;
  return to_array(std::move(found));
}

using Ends = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Weights = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using SumTables = std::pair<Ends, Ends>;  // (outputs, slots), and (inputs, 2 slots): the slots twice
using Bounds = nb::ndarray<const double, nb::shape<maps::kNumBoundRows, -1>, nb::c_contig, nb::device::cpu>;
using BoundSums = nb::ndarray<double, nb::shape<maps::kNumBoundRows, -1>, nb::c_contig, nb::device::cpu>;

/// A loop nest in separable form, for its diagonals.
class SeparableNest {
 public:
  SeparableNest(SumTables difference, std::optional<Ends> serves,
                std::vector<std::pair<SumTables, std::int32_t>> bounded, std::optional<SumTables> flat)
      : difference_(std::move(difference)),
        serves_(std::move(serves)),
        bounded_(std::move(bounded)),
        flat_(std::move(flat)) {
    check(difference_);
    for (const auto& [tables, limit] : bounded_) {
      check(tables);
      require(limit >= 0, ErrorKind::kValue, "a limit is not negative");
    }
    if (flat_) check(*flat_);
    require(!serves_ || (serves_->shape(0) == inputs() && serves_->shape(1) == 2 * slots()), ErrorKind::kShape,
            "tables of different shapes");
  }

  Vector diagonal(std::int64_t out, std::int64_t in, std::int64_t steps, const std::optional<Weights>& weights,
                  const std::optional<Places>& also, std::int64_t rotation, double factor) const {
    const auto size = static_cast<std::int64_t>(slots());
    require(out >= 0 && out < static_cast<std::int64_t>(outputs()) && in >= 0 &&
                in < static_cast<std::int64_t>(inputs()) && steps >= 0 && steps < size && rotation >= 0 &&
                rotation < size,
            ErrorKind::kValue, "there is no such diagonal");
    require(!weights || (flat_ && weights->size() > 0), ErrorKind::kValue, "weights for a nest that reads none");
    require(!also || also->size() == slots(), ErrorKind::kShape, "one place for each slot");
    const auto ends = [&](const SumTables& tables) {
      return maps::EndSum{tables.first.data() + out * size, tables.second.data() + 2 * in * size + steps};
    };
    maps::SeparableDiagonal found{size, steps, ends(difference_), nullptr, {}, {}, nullptr, 0};
    if (serves_) found.serves = serves_->data() + 2 * in * size + steps;
    for (const auto& [tables, limit] : bounded_) found.bounded.emplace_back(ends(tables), limit);
    if (weights) {
      found.flat = ends(*flat_);
      found.weights = weights->data();
      found.num_weights = static_cast<std::int64_t>(weights->size());
    }
    auto values = std::make_unique_for_overwrite<double[]>(slots());
    {
      const nb::gil_scoped_release released;
      maps::diagonal_of(found, also ? also->data() : nullptr, rotation, factor, values.get());
    }
    const nb::capsule owner(values.get(), [](void* array) noexcept { delete[] static_cast<double*>(array); });
    return Vector(values.release(), {slots()}, owner);
  }

 private:
  std::size_t outputs() const { return difference_.first.shape(0); }
  std::size_t inputs() const { return difference_.second.shape(0); }
  std::size_t slots() const { return difference_.first.shape(1); }

  void check(const SumTables& tables) const {
    require(tables.first.shape(0) == outputs() && tables.first.shape(1) == slots() &&
                tables.second.shape(0) == inputs() && tables.second.shape(1) == 2 * slots(),
            ErrorKind::kShape, "tables of different shapes");
  }

  SumTables difference_;
  std::optional<Ends> serves_;
  std::vector<std::pair<SumTables, std::int32_t>> bounded_;
  std::optional<SumTables> flat_;
};

bool add_diagonal(const Weights& weights, const Bounds& bounds, std::int64_t steps, const BoundSums& sums) {
  const auto slots = static_cast<std::int64_t>(weights.size());
  require(bounds.shape(1) == weights.size() && sums.shape(1) == weights.size(), ErrorKind::kShape,
          "rows of different lengths");
  require(slots > 0 && steps >= 0 && steps < slots, ErrorKind::kValue, "steps from 0 to below the slots");
  return maps::add_diagonal(weights.data(), bounds.data(), slots, steps, sums.data());
}

using Vectors = nb::ndarray<const double, nb::ndim<3>, nb::device::cpu>;
using VectorSums = nb::ndarray<double, nb::ndim<2>, nb::device::cpu>;

void add_products(const std::vector<Weights>& weights, const Vectors& vectors, const std::vector<std::int64_t>& inputs,
                  const std::vector<std::int64_t>& steps, bool finite, const VectorSums& sums) {
  const maps::VectorRows rows{static_cast<std::int64_t>(sums.shape(1)), static_cast<std::int64_t>(sums.shape(0)),
                              vectors.stride(1), sums.stride(0)};
  require(vectors.shape(1) == sums.shape(0) && vectors.shape(2) == sums.shape(1), ErrorKind::kShape,
          "rows of different lengths");
  require(rows.slots > 0 && vectors.stride(2) == 1 && sums.stride(1) == 1, ErrorKind::kShape,
          "numbers of a row lie apart");
  require(inputs.size() == weights.size() && steps.size() == weights.size(), ErrorKind::kShape,
          "columns of different lengths");
  require_below(inputs, static_cast<std::int64_t>(vectors.shape(0)), "input");
  require_below(steps, rows.slots, "steps");
  std::vector<maps::DiagonalProduct> products;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    require(weights[i].size() == sums.shape(1), ErrorKind::kShape, "a weight for each slot");
    products.push_back({weights[i].data(), vectors.data() + inputs[i] * vectors.stride(0), steps[i]});
  }
  const nb::gil_scoped_release released;
  maps::add_products(products, rows, finite, sums.data());
}

using SeriesTable = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Vector series(const Weights& x, const SeriesTable& coefficients, std::size_t elements) {
  const std::size_t terms = coefficients.shape(0), channels = coefficients.shape(1);
  require(terms >= 1 && channels >= 1 && elements >= 1, ErrorKind::kShape, "a series has at least one term");
  require(x.size() % channels == 0 && x.size() / channels % elements == 0, ErrorKind::kShape,
          std::to_string(x.size()) + " numbers are no rows of " + std::to_string(channels) + " channels of " +
              std::to_string(elements));
  auto values = std::make_unique_for_overwrite<double[]>(x.size());
  {
    const nb::gil_scoped_release released;
    maps::evaluate_series({x.size() / channels / elements, channels, elements, coefficients.data(), terms}, x.data(),
                          values.get());
  }
  const nb::capsule owner(values.get(), [](void* array) noexcept { delete[] static_cast<double*>(array); });
  return Vector(values.release(), {x.size()}, owner);
}

Vector error_function(const Weights& x) {
  auto values = std::make_unique_for_overwrite<double[]>(x.size());
  {
    const nb::gil_scoped_release released;
    std::transform(x.data(), x.data() + x.size(), values.get(), [](double number) { return std::erf(number); });
  }
  const nb::capsule owner(values.get(), [](void* array) noexcept { delete[] static_cast<double*>(array); });
  return Vector(values.release(), {x.size()}, owner);
}

/// The largest of the magnitudes' bits: in their order, with NaN beyond all numbers.
double largest(const Weights& x, const Places& where) {
  require(where.size() == x.size(), ErrorKind::kShape, "a place for each number");
  constexpr std::uint64_t kMagnitude = ~(std::uint64_t{1} << 63);
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint64_t chosen = where.data()[i] ? kMagnitude : 0;
    most = std::max(most, std::bit_cast<std::uint64_t>(x.data()[i]) & chosen);
  }
  return std::bit_cast<double>(most);
}

}  // namespace

void bind_maps(nb::module_& m) {
  m.def(
      "key_switches", &key_switches, "slots"_a, "conj"_a, "out"_a, "in_"_a, "steps"_a, "widths"_a, "centred"_a,
      "orders"_a, "iterated"_a,
      "((products, outputs, inputs), rows): for each split hoists, babies, giants, and different keys by each order.");
  m.def("partners", &partners, "steps"_a, "slots"_a, "distances"_a,
        "For each distance how many of the steps have a partner so much further around.");
  m.def("pairs", &pairs, "steps"_a, "slots"_a, "apart"_a,
        "Ascending steps paired along chains: (first, 3), or (single, 1) where a chain ends.");
  m.def("sums", &sums, "a"_a, "b"_a, "slots"_a, "The different sums of a move of each, ascending.");
  m.def("settled", &settle, "totals"_a, "rows"_a, "nearest"_a, "spread"_a, "pairs"_a,
        "Of each sum of a total and a row of moves the code of the nearest copy; different ones, ascending.");
  nb::class_<SeparableNest>(m, "SeparableNest", "A loop nest in separable form, for the values of its diagonals.")
      .def(nb::init<SumTables, std::optional<Ends>, std::vector<std::pair<SumTables, std::int32_t>>,
                    std::optional<SumTables>>(),
           "difference"_a, "serves"_a.none(), "bounded"_a, "flat"_a.none())
      .def("diagonal", &SeparableNest::diagonal, "out"_a, "in_"_a, "steps"_a, "weights"_a.none(), "also"_a.none(),
           "rotation"_a, "factor"_a, "Diagonal (out, in_, steps), rotated left and times a factor; shape (slots,).");
  m.def("add_diagonal", &add_diagonal, "weights"_a, "bounds"_a, "steps"_a, "sums"_a,
        "Add what a diagonal makes of bounds of an input vector to those of an output; whether its weights differ.");
  m.def("add_products", &add_products, "weights"_a, "vectors"_a, "inputs"_a, "steps"_a, "finite"_a, "sums"_a,
        "Add products of diagonals with rotated vectors to sums, diagonal by diagonal.");
  m.def("largest", &largest, "x"_a, "where"_a,
        "The largest magnitude of the numbers where a place is true: 0 of none, NaN where there is one.");
  m.def("error_function", &error_function, "x"_a, "The error function of each number: the bits of Python's math.erf.");
  m.def("series", &series, "x"_a, "coefficients"_a, "elements"_a,
        "Chebyshev series (terms, channels) at rows of so many numbers of each channel: the bits of NumPy's chebval.");
}

}  // namespace lw
