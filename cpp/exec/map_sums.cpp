#include "exec/map_sums.hpp"

#include <algorithm>
#include <optional>

#include "math/error.hpp"

namespace lw {
namespace {

/// The number of `item` in `known`, where it is put if it is new.
std::uint32_t place_of(std::vector<std::uint32_t>& known, std::uint32_t item) {
  const auto place = std::find(known.begin(), known.end(), item) - known.begin();
  if (static_cast<std::size_t>(place) == known.size()) known.push_back(item);
  return static_cast<std::uint32_t>(place);
}

class MapSums {
 public:
  MapSums(const Evaluator& evaluator, const Tick& tick, PlaintextProvider& plaintexts, std::uint32_t constant,
          std::span<const EvaluationKey* const> keys, const ValueType& result, double scale, std::size_t num_inputs)
      : evaluator_(evaluator),
        tick_(tick),
        plaintexts_(plaintexts),
        constant_(constant),
        keys_(keys),
        plain_(result),
        products_(plaintexts.products(constant)),
        totals_(result.count) {
    plain_.kind = TypeKind::kPlain;
    plain_.scale = result.scale / scale;
    for (const MapProduct& product : products_) {
      if (product.input < num_inputs && product.baby <= keys.size() && product.sum < result.count) continue;
      throw Error(ErrorKind::kFormat, "constant " + std::to_string(constant) + " has a product of input " +
                                          std::to_string(product.input) + ", baby " + std::to_string(product.baby) +
                                          " and sum " + std::to_string(product.sum) + ", which the plan lacks");
    }
  }

  Ciphertexts run(Ciphertexts x) {
    if (!products_.empty()) {
      const std::size_t bytes = plaintexts_.acquire_product(constant_, 0, plain_).num_bytes();
      at_once_ = std::max<std::size_t>(1, plaintexts_.budget_bytes() / bytes);
    }
    if (keys_.empty()) {
      add_unturned(x);
    } else {
      for (std::uint32_t u = 0; u < x.size(); ++u) add_input(u, std::move(x[u]));
    }
    Ciphertexts sums;
    for (std::optional<Ciphertext>& total : totals_) {
      if (!total) {
        throw Error(ErrorKind::kFormat,
                    "constant " + std::to_string(constant_) + " has no product for sum " + std::to_string(sums.size()));
      }
      sums.push_back(std::move(*total));
    }
    return sums;
  }

 private:
  /// Without keys: the products of each sum in turn, over Q.
  void add_unturned(const Ciphertexts& x) {
    for (std::uint32_t first = 0; first < products_.size();) {
      const std::uint32_t sum = products_[first].sum;
      std::vector<const Ciphertext*> factors;
      std::vector<Plaintext> held;
      for (; first < products_.size() && products_[first].sum == sum && held.size() < at_once_; ++first) {
        call(tick_);
        factors.push_back(&x[products_[first].input]);
        held.push_back(plaintexts_.acquire_product(constant_, first, plain_));
      }
      std::vector<const Plaintext*> plains;
      for (const Plaintext& plain : held) plains.push_back(&plain);
      add(sum, evaluator_.dot_plain(factors, plains));
    }
  }

  /// All products of one input.
  void add_input(std::uint32_t u, const Ciphertext& x) {
    std::vector<std::uint32_t> own;
    for (std::uint32_t i = 0; i < products_.size(); ++i) {
      if (products_[i].input == u) own.push_back(i);
    }
    const Digits digits = own.size() > at_once_ ? evaluator_.hoist(x) : Digits{x, nullptr};
    for (std::size_t first = 0; first < own.size(); first += at_once_) {
      add_products(digits, std::span(own).subspan(first, std::min(at_once_, own.size() - first)));
    }
  }

  void add_products(const Digits& digits, std::span<const std::uint32_t> numbers) {
    std::vector<Plaintext> held;
    for (const std::uint32_t number : numbers) {
      call(tick_);
      held.push_back(plaintexts_.acquire_product(constant_, number, plain_));
    }
    std::vector<std::uint32_t> babies{0}, sums;  // those of these products alone
    std::vector<Evaluator::Diagonal> diagonals;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const MapProduct& product = products_[numbers[i]];
      diagonals.push_back({place_of(babies, product.baby), place_of(sums, product.sum), &held[i]});
    }
    std::vector<const EvaluationKey*> keys;
    for (std::size_t k = 1; k < babies.size(); ++k) keys.push_back(keys_[babies[k] - 1]);
    std::vector<Ciphertext> made = evaluator_.diag_sums(digits, keys, diagonals, sums.size());
    for (std::size_t g = 0; g < sums.size(); ++g) add(sums[g], std::move(made[g]));
  }

  void add(std::uint32_t sum, Ciphertext value) {
    std::optional<Ciphertext>& total = totals_[sum];
    if (total) {
      Ciphertext before = std::move(*total);
      value = evaluator_.add(std::move(before), value);
    }
    total = std::move(value);
  }

  const Evaluator& evaluator_;
  const Tick& tick_;
  PlaintextProvider& plaintexts_;
  std::uint32_t constant_;
  std::span<const EvaluationKey* const> keys_;
  ValueType plain_;
  std::vector<MapProduct> products_;
  std::vector<std::optional<Ciphertext>> totals_;
  std::size_t at_once_ = 1;  // plaintexts
};

}  // namespace

Ciphertexts map_sums(const Evaluator& evaluator, const Tick& tick, PlaintextProvider& plaintexts,
                     std::uint32_t constant, Ciphertexts x, std::span<const EvaluationKey* const> keys,
                     const ValueType& result) {
  const double scale = x[0].scale;
  return MapSums(evaluator, tick, plaintexts, constant, keys, result, scale, x.size()).run(std::move(x));
}

}  // namespace lw
