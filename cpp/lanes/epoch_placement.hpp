// Lanes for the places of epochs, by simulated annealing.
#pragma once

#include <vector>

#include "lanes/epochs.hpp"
#include "lanes/random.hpp"

namespace lw::lanes {

// Which place lies in which lane in each epoch, and how many rotations that takes: one for every distinct
// (epoch that is read, lanes between what is read and who reads it). Kept up to date as places move, at a cost that
// grows with the arcs of what moves only.
class Placement {
 public:
  /// `lane` of every place: different ones within an epoch, below epochs.num_columns.
  /// `width` is what lanes count modulo, a power of two.
  Placement(const Epochs& epochs, Number width, std::vector<Number> lane);

  /// Exchanges two lanes in some epochs (bit i % 64 of `chosen[i / 64]`). Doing it again takes it back.
  void exchange(Number a, Number b, const std::vector<std::uint64_t>& chosen);

  const std::vector<Number>& lanes() const { return lane_; }
  Number num_rotations() const { return rotations_; }
  std::uint64_t num_looked_at() const { return looked_at_; }  // arcs, in all moves

 private:
  struct Neighbour {
    Number place;
    bool is_read;  // by the place whose neighbour it is
  };

  void move(Number place, Number lane);
  void count(Number place, Number change);
  std::uint32_t slot(Number source, Number target) const {
    return static_cast<std::uint32_t>(epochs_->epoch[source]) * span_ +
           (static_cast<std::uint32_t>(lane_[target] - lane_[source]) & (span_ - 1));
  }

  const Epochs* epochs_;
  std::uint32_t span_;  // numbers of different distances
  std::vector<Number> lane_;
  std::vector<Number> cells_;  // [epoch][column]: place or -1
  std::vector<Neighbour> neighbours_;
  std::vector<std::size_t> first_;  // of each place in neighbours_
  std::vector<Number> uses_;        // [epoch][distance]: arcs
  Number rotations_ = 0;
  std::uint64_t looked_at_ = 0;
};

/// The places of each epoch in order, apart from those whose lanes are fixed (Coyote, section 5).
std::vector<Number> enumerate_lanes(const Epochs& epochs);

/// Columns of places that read one another: for each two epochs a matching as large as possible that prefers places
/// with many arcs, and the columns that come of all of them packed into lanes (Coyote's public code). Falls back on
/// `enumerated_lanes` where the columns do not fit into `width`; may raise epochs.num_columns.
std::vector<Number> match_lanes(Epochs& epochs, Number width);

struct Cooling {
  int moves = 20000;
  double temperature = 50;  // in rotations
  double rate = 0.001;      // after every move T becomes T / (1 + rate T)
};

/// Anneals: a move exchanges two lanes in a random half of the epochs. Returns the best lanes seen; the placement is
/// left at them only by chance.
std::vector<Number> anneal_lanes(Placement& placement, const Epochs& epochs, const Cooling& cooling, Random& random,
                                 Number* rotations);

}  // namespace lw::lanes
