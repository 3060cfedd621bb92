#include "exec/row_slots.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace lw {

const KeyView& RowSlots::view(std::size_t key, Level level, const KeyShape& shape) {
  const auto [place, is_new] = views_.try_emplace({key, level.track, level.index});
  KeyView& view = place->second;
  if (!is_new) return view;
  view.limbs = shape.limbs;
  view.digits = shape.digit_numbers();
  for (const std::uint32_t digit : view.digits) {
    for (const std::uint16_t limb : view.limbs) {
      view.rows.push_back(&rows_.try_emplace({key, {digit, limb}}, KeyRow{key, digit, limb}).first->second);
    }
  }
  return view;
}

void RowSlots::announce(const std::vector<const KeyView*>& keys, std::size_t most, std::deque<RowWindow>& windows) {
  const std::size_t limbs = keys[0]->limbs.size(), rows_a_limb = keys.size() * keys[0]->digits.size();
  const std::size_t at_once = std::clamp<std::size_t>(num_slots_ / 2 / rows_a_limb, 1, most);
  const std::size_t count = (limbs + at_once - 1) / at_once;
  for (std::size_t i = 0, first = 0; i < count; ++i) {
    const std::size_t size = limbs / count + (i < limbs % count ? 1 : 0);
    const RowWindow& window = windows.emplace_back(RowWindow{keys, {first, size}, next_position_++});
    window.for_each([&](KeyRow& row) { row.uses.insert(window.position); });
    first += size;
  }
}

std::size_t RowSlots::num_held() const noexcept {
  return static_cast<std::size_t>(std::count_if(resident_.begin(), resident_.end(), [](const KeyRow* row) {
    return row->claims > 0 || row->state != KeyRow::State::kReady;
  }));
}

bool RowSlots::claim(RowWindow& window, bool is_near, std::deque<KeyRow*>& wanted) {
  std::size_t missing = 0;
  window.for_each([&](KeyRow& row) {
    ++row.claims;
    if (row.state == KeyRow::State::kAbsent) ++missing;
  });
  if (!make_room(missing, is_near)) {
    window.for_each([](KeyRow& row) { --row.claims; });
    return false;
  }
  window.for_each([&](KeyRow& row) {
    if (row.state != KeyRow::State::kAbsent) return;
    take_slot(row);
    wanted.push_back(&row);
  });
  window.is_claimed = true;
  num_hits_ += window.num_rows() - missing;
  return true;
}

void RowSlots::take_slot(KeyRow& row) {
  if (free_.empty()) free_.push_back(num_made_++);
  row.slot = free_.back();
  free_.pop_back();
  row.state = KeyRow::State::kWanted;
  resident_.push_back(&row);
  most_used_ = std::max(most_used_, resident_.size());
}

bool RowSlots::make_room(std::size_t rows, bool even_used_again) {
  const std::size_t room = num_slots_ - resident_.size();
  if (rows <= room) return true;
  std::vector<KeyRow*> idle;
  for (KeyRow* row : resident_) {
    if (row->state == KeyRow::State::kReady && row->claims == 0 && (even_used_again || row->uses.empty())) {
      idle.push_back(row);
    }
  }
  const std::size_t needed = rows - room;
  if (idle.size() < needed) return false;
  const auto next = [](const KeyRow& row) {
    return row.uses.empty() ? std::numeric_limits<std::uint64_t>::max() : *row.uses.begin();
  };
  const auto leaves_first = [&](const KeyRow* a, const KeyRow* b) {
    return std::tuple(next(*a), a->key, a->digit, a->limb) > std::tuple(next(*b), b->key, b->digit, b->limb);
  };
  std::nth_element(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(needed) - 1, idle.end(), leaves_first);
  for (std::size_t i = 0; i < needed; ++i) {
    free_.push_back(idle[i]->slot);
    idle[i]->state = KeyRow::State::kAbsent;
  }
  std::erase_if(resident_, [](const KeyRow* row) { return row->state == KeyRow::State::kAbsent; });
  return true;
}

void RowSlots::retire(const RowWindow& window) {
  window.for_each([&](KeyRow& row) {
    row.uses.erase(row.uses.find(window.position));
    if (!window.is_claimed) return;
    --row.claims;
    if (row.claims == 0 && row.state == KeyRow::State::kWanted) drop(row);
  });
}

void RowSlots::drop(KeyRow& row) {
  free_.push_back(row.slot);
  row.state = KeyRow::State::kAbsent;
  std::erase(resident_, &row);
}

}  // namespace lw
