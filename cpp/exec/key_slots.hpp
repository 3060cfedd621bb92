// The limbs of keys that are in memory: a fixed number of slots, given to windows of limbs in the order in which runs
// need them. Knows nothing of files and threads; whoever shares it locks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "rlwe/keys.hpp"

namespace lw {

/// One digit of a key at one limb: both halves.
struct KeyLimb {
  enum class State : std::uint8_t { kAbsent, kWanted, kReading, kReady };  // all but absent ones have a slot
  std::size_t key;                                                         // its number in the file
  std::uint32_t digit;                                                     // numbers
  std::uint16_t limb;
  State state = State::kAbsent;
  bool is_asked_for = false;  // the system may have begun to read it
  std::size_t slot = 0;
  const RnsPolys* place = nullptr;         // there: b and a, of one limb
  std::uint32_t claims = 0;                // windows that are under way with it
  std::multiset<std::uint64_t> uses = {};  // windows to come that need it, by their positions
};

/// A key as far as a level needs it.
struct KeyView {
  LimbList limbs;
  std::vector<std::uint32_t> digits;
  std::vector<KeyLimb*> parts;  // [digit][limb]
  KeyLimb& limb(std::size_t digit, std::size_t limb) const { return *parts[digit * limbs.size() + limb]; }
};

/// Limbs of some keys for target limbs that follow each other.
struct KeyLimbWindow {
  std::vector<const KeyView*> keys;
  LimbWindow limbs;
  std::uint64_t position = 0;  // smaller ones are needed before it
  bool is_claimed = false;

  template <class Body>
  void for_each(const Body& body) const {
    for (const KeyView* key : keys) {
      for (std::size_t d = 0; d < key->digits.size(); ++d) {
        for (std::size_t i = 0; i < limbs.count; ++i) body(key->limb(d, limbs.first + i));
      }
    }
  }
  std::size_t num_limbs() const noexcept {
    return keys.empty() ? 0 : keys.size() * keys[0]->digits.size() * limbs.count;
  }
};

/// Gives slots to windows. Limbs stay after their use as long as there is room, and leave by Belady's rule: first the
/// one whose next use, as far as it has been foretold, is farthest. So no other choice of limbs reads fewer.
class KeySlots {
 public:
  explicit KeySlots(std::size_t num_slots) : num_slots_(num_slots) {}

  std::size_t num_slots() const noexcept { return num_slots_; }
  std::size_t num_used() const noexcept { return resident_.size(); }
  std::size_t most_used() const noexcept { return most_used_; }
  /// Limbs of windows that had a slot already when their windows got theirs.
  std::uint64_t num_hits() const noexcept { return num_hits_; }
  /// Limbs in windows that are under way, and limbs that are not there yet.
  std::size_t num_held() const noexcept;

  const KeyView& view(std::size_t key, Level level, const KeyShape& shape);
  /// The windows of one way through the limbs of keys at one level: as large as lets two of them fit half of the slots
  /// each, no larger than `most`, and of about one size. Announced.
  void announce(const std::vector<const KeyView*>& keys, std::size_t most, std::deque<KeyLimbWindow>& windows);
  /// Slots for all limbs of a window, which `wanted` gets those that have to be read; false if there is no room.
  /// is_near: limbs that are to be used again may leave for it, else only those that are not.
  bool claim(KeyLimbWindow& window, bool is_near, std::deque<KeyLimb*>& wanted);
  /// A window has been read, or will not be.
  void retire(const KeyLimbWindow& window);
  /// A limb that could not be read, and nobody waits for.
  void drop(KeyLimb& key_limb);

 private:
  bool make_room(std::size_t count, bool even_used_again);
  void take_slot(KeyLimb& key_limb);

  const std::size_t num_slots_;
  std::vector<std::size_t> free_;
  std::size_t num_made_ = 0;  // slots that have been in use
  std::size_t most_used_ = 0;
  std::uint64_t num_hits_ = 0;
  std::uint64_t next_position_ = 0;
  std::map<std::pair<std::size_t, std::pair<std::uint32_t, std::uint16_t>>, KeyLimb> limbs_;
  std::map<std::tuple<std::size_t, std::uint32_t, std::uint32_t>, KeyView> views_;
  std::vector<KeyLimb*> resident_;
};

}  // namespace lw
