#include "rlwe/switch_keys.hpp"

#include <algorithm>
#include <numeric>

namespace lw {
namespace {

template <class T>
std::size_t place(const std::vector<T>& held, const T& item) {
  return static_cast<std::size_t>(std::find(held.begin(), held.end(), item) - held.begin());
}

/// A pass over the keys in a single window of all limbs.
class WholePass final : public KeyPass {
 public:
  WholePass(const std::vector<const EvaluationKey*>& keys, std::span<const std::uint32_t> digits, const LimbList& limbs)
      : count_(limbs.size()) {
    pointers_.reserve(2 * keys.size());
    for (const EvaluationKey* key : keys) {
      const std::span<const Word* const> b = limbs_of(*key, *key->b, digits, limbs),
                                         a = limbs_of(*key, *key->a, digits, limbs);
      views_.push_back({b, a, key->spec.kind == KeyKind::kGalois ? key->spec.galois_element : 1});
    }
  }

  KeyWindow next() override { return {{0, count_}, views_}; }

 private:
  std::span<const Word* const> limbs_of(const EvaluationKey& key, const RnsPolys& half,
                                        std::span<const std::uint32_t> digits, const LimbList& limbs) {
    std::vector<const Word*>& found = pointers_.emplace_back();
    const ConstLimbView held = half.view();
    for (const std::uint32_t digit : digits) {
      for (const std::uint16_t limb : limbs)
        found.push_back(held.limb(place(key.digits, digit), place(half.limbs(), limb)));
    }
    return found;
  }

  std::size_t count_;
  std::vector<std::vector<const Word*>> pointers_;
  std::vector<KeyLimbs> views_;
};

}  // namespace

std::unique_ptr<KeyPass> SwitchKeys::read_all(std::span<const std::uint32_t> digits, const LimbList& limbs) const {
  std::vector<std::size_t> all(size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return read(all, digits, limbs);
}

HeldKeys::HeldKeys(std::vector<std::shared_ptr<const EvaluationKey>> owners) : owners_(std::move(owners)) {
  for (const auto& owner : owners_) keys_.push_back(owner.get());
}

void HeldKeys::check(const Context& context, const std::string& op) const {
  for (const EvaluationKey* key : keys_) check_context(context.parameters().fingerprint(), *key->b, context, op);
}

std::unique_ptr<KeyPass> HeldKeys::read(std::span<const std::size_t> which, std::span<const std::uint32_t> digits,
                                        const LimbList& limbs) const {
  std::vector<const EvaluationKey*> keys;
  for (const std::size_t k : which) keys.push_back(keys_[k]);
  return std::make_unique<WholePass>(keys, digits, limbs);
}

}  // namespace lw
