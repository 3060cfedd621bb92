#include "exec/key_slots.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace lw {

const KeyView& KeySlots::view(std::size_t key, Level level, const KeyShape& shape) {
  const auto [place, is_new] = views_.try_emplace({key, level.track, level.index});
  KeyView& view = place->second;
  if (!is_new) return view;
  view.limbs = shape.limbs;
  view.digits = shape.digit_numbers();
  for (const std::uint32_t digit : view.digits) {
    for (const std::uint16_t limb : view.limbs) {
      view.parts.push_back(&limbs_.try_emplace({key, {digit, limb}}, KeyLimb{key, digit, limb}).first->second);
    }
  }
  return view;
}

void KeySlots::announce(const std::vector<const KeyView*>& keys, std::size_t most, std::deque<KeyLimbWindow>& windows) {
  const std::size_t limbs = keys[0]->limbs.size(), digits_a_limb = keys.size() * keys[0]->digits.size();
  const std::size_t at_once = std::clamp<std::size_t>(num_slots_ / 2 / digits_a_limb, 1, most);
  const std::size_t count = (limbs + at_once - 1) / at_once;
  for (std::size_t i = 0, first = 0; i < count; ++i) {
    const std::size_t size = limbs / count + (i < limbs % count ? 1 : 0);
    const KeyLimbWindow& window = windows.emplace_back(KeyLimbWindow{keys, {first, size}, next_position_++});
    window.for_each([&](KeyLimb& key_limb) { key_limb.uses.insert(window.position); });
    first += size;
  }
}

std::size_t KeySlots::num_held() const noexcept {
  return static_cast<std::size_t>(std::count_if(resident_.begin(), resident_.end(), [](const KeyLimb* key_limb) {
    return key_limb->claims > 0 || key_limb->state != KeyLimb::State::kReady;
  }));
}

bool KeySlots::claim(KeyLimbWindow& window, bool is_near, std::deque<KeyLimb*>& wanted) {
  std::size_t missing = 0;
  window.for_each([&](KeyLimb& key_limb) {
    ++key_limb.claims;
    if (key_limb.state == KeyLimb::State::kAbsent) ++missing;
  });
  if (!make_room(missing, is_near)) {
    window.for_each([](KeyLimb& key_limb) { --key_limb.claims; });
    return false;
  }
  window.for_each([&](KeyLimb& key_limb) {
    if (key_limb.state != KeyLimb::State::kAbsent) return;
    take_slot(key_limb);
    wanted.push_back(&key_limb);
  });
  window.is_claimed = true;
  num_hits_ += window.num_limbs() - missing;
  return true;
}

void KeySlots::take_slot(KeyLimb& key_limb) {
  if (free_.empty()) free_.push_back(num_made_++);
  key_limb.slot = free_.back();
  free_.pop_back();
  key_limb.state = KeyLimb::State::kWanted;
  resident_.push_back(&key_limb);
  most_used_ = std::max(most_used_, resident_.size());
}

bool KeySlots::make_room(std::size_t count, bool even_used_again) {
  const std::size_t room = num_slots_ - resident_.size();
  if (count <= room) return true;
  std::vector<KeyLimb*> idle;
  for (KeyLimb* key_limb : resident_) {
    if (key_limb->state == KeyLimb::State::kReady && key_limb->claims == 0 &&
        (even_used_again || key_limb->uses.empty())) {
      idle.push_back(key_limb);
    }
  }
  const std::size_t needed = count - room;
  if (idle.size() < needed) return false;
  const auto next = [](const KeyLimb& key_limb) {
    return key_limb.uses.empty() ? std::numeric_limits<std::uint64_t>::max() : *key_limb.uses.begin();
  };
  const auto leaves_first = [&](const KeyLimb* a, const KeyLimb* b) {
    return std::tuple(next(*a), a->key, a->digit, a->limb) > std::tuple(next(*b), b->key, b->digit, b->limb);
  };
  std::nth_element(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(needed) - 1, idle.end(), leaves_first);
  for (std::size_t i = 0; i < needed; ++i) {
    free_.push_back(idle[i]->slot);
    idle[i]->state = KeyLimb::State::kAbsent;
  }
  std::erase_if(resident_, [](const KeyLimb* key_limb) { return key_limb->state == KeyLimb::State::kAbsent; });
  return true;
}

void KeySlots::retire(const KeyLimbWindow& window) {
  window.for_each([&](KeyLimb& key_limb) {
    key_limb.uses.erase(key_limb.uses.find(window.position));
    if (!window.is_claimed) return;
    --key_limb.claims;
    if (key_limb.claims == 0 && key_limb.state == KeyLimb::State::kWanted) drop(key_limb);
  });
}

void KeySlots::drop(KeyLimb& key_limb) {
  free_.push_back(key_limb.slot);
  key_limb.state = KeyLimb::State::kAbsent;
  std::erase(resident_, &key_limb);
}

}  // namespace lw
