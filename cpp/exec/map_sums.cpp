#include "exec/map_sums.hpp"

#include <algorithm>
#include <optional>

#include "math/error.hpp"

namespace lw {
namespace {

template <class T>
std::uint32_t place_in(const std::vector<T>& known, T item) {
  return static_cast<std::uint32_t>(std::find(known.begin(), known.end(), item) - known.begin());
}

template <class T>
void note(std::vector<T>& known, T item) {
  if (place_in(known, item) == known.size()) known.push_back(item);
}

class MapSums {
 public:
  MapSums(const Evaluator& evaluator, const Tick& tick, PlanConstants& constants, std::uint32_t constant,
          const SwitchKeys* keys, const ValueType& result, double scale, std::size_t num_inputs)
      : evaluator_(evaluator),
        tick_(tick),
        constants_(constants),
        constant_(constant),
        keys_(keys),
        plain_(map_factor(result, scale)),
        products_(constants.provider().products(constant)),
        totals_(result.count) {
    at_once_ = plaintexts_at_once(evaluator.context(), constants.provider(), result);
    const std::size_t num_keys = keys == nullptr ? 0 : keys->size();
    for (const MapProduct& product : products_) {
      if (product.input < num_inputs && product.baby <= num_keys && product.sum < result.count) continue;
      throw Error(ErrorKind::kFormat, "constant " + std::to_string(constant) + " has a product of input " +
                                          std::to_string(product.input) + ", baby " + std::to_string(product.baby) +
                                          " and sum " + std::to_string(product.sum) + ", which the plan lacks");
    }
  }

  Ciphertexts run(Ciphertexts x) {
    if (keys_ == nullptr) {
      add_without_keys(x);
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
  /// Adds the products of an input that needs no keys: one sum after the other, over Q.
  void add_without_keys(const Ciphertexts& x) {
    for (std::uint32_t first = 0; first < products_.size();) {
      const std::uint32_t sum = products_[first].sum;
      std::vector<const Ciphertext*> factors;
      std::vector<Plaintext> held;
      for (; first < products_.size() && products_[first].sum == sum && held.size() < at_once_; ++first) {
        call(tick_);
        factors.push_back(&x[products_[first].input]);
        held.push_back(constants_.acquire_product(constant_, first, plain_, false));
      }
      std::vector<const Plaintext*> plains;
      for (const Plaintext& plain : held) plains.push_back(&plain);
      add(sum, evaluator_.dot_plain(factors, plains));
    }
  }

  /// Adds all products of input u, pass by pass.
  void add_input(std::uint32_t u, const Ciphertext& x) {
    const std::vector<MapPass> passes = map_passes(products_, u, at_once_);
    const Digits digits = passes.size() > 1 ? evaluator_.hoist(x) : Digits{x, nullptr};
    for (const MapPass& pass : passes) add_products(digits, pass);
  }

  void add_products(const Digits& digits, const MapPass& pass) {
    std::vector<Plaintext> held;
    for (const std::uint32_t number : pass.products) {
      call(tick_);
      held.push_back(constants_.acquire_product(constant_, number, plain_, true));
    }
    std::vector<Evaluator::Diagonal> diagonals;
    for (std::size_t i = 0; i < held.size(); ++i) {
      const MapProduct& product = products_[pass.products[i]];
      const std::uint32_t baby = product.baby == 0 ? 0 : place_in(pass.keys, std::size_t{product.baby - 1}) + 1;
      diagonals.push_back({baby, place_in(pass.sums, product.sum), &held[i]});
    }
    std::vector<Ciphertext> made = evaluator_.diag_sums(digits, *keys_, pass.keys, diagonals, pass.sums.size());
    for (std::size_t g = 0; g < pass.sums.size(); ++g) add(pass.sums[g], std::move(made[g]));
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
  PlanConstants& constants_;
  std::uint32_t constant_;
  const SwitchKeys* keys_;
  ValueType plain_;
  std::vector<MapProduct> products_;
  std::vector<std::optional<Ciphertext>> totals_;
  std::size_t at_once_ = 1;  // plaintexts
};

}  // namespace

std::vector<MapPass> map_passes(std::span<const MapProduct> products, std::uint32_t input, std::size_t at_once) {
  std::vector<MapPass> passes;
  for (std::uint32_t i = 0; i < products.size(); ++i) {
    if (products[i].input != input) continue;
    if (passes.empty() || passes.back().products.size() == at_once) passes.emplace_back();
    MapPass& pass = passes.back();
    pass.products.push_back(i);
    if (products[i].baby > 0) note(pass.keys, std::size_t{products[i].baby - 1});
    note(pass.sums, products[i].sum);
  }
  return passes;
}

std::size_t plaintexts_at_once(const Context& context, const PlaintextProvider& plaintexts, const ValueType& result) {
  const std::size_t bytes = context.limbs(result.level, result.basis).size() * context.ring().stride() * sizeof(Word);
  return std::max<std::size_t>(1, plaintexts.budget_bytes() / bytes);
}

Ciphertexts map_sums(const Evaluator& evaluator, const Tick& tick, PlanConstants& constants, std::uint32_t constant,
                     Ciphertexts x, const SwitchKeys* keys, const ValueType& result) {
  const double scale = x[0].scale;
  return MapSums(evaluator, tick, constants, constant, keys, result, scale, x.size()).run(std::move(x));
}

}  // namespace lw
