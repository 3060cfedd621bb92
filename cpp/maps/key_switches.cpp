#include "maps/key_switches.hpp"

#include <algorithm>
#include <cstddef>

namespace lw::maps {
namespace {

/// A line that is rotated, and its distinct steps: an output or an input (twice its number, one more if conjugated).
struct Line {
  std::int64_t number;
  std::size_t begin, end;
};

struct RotatedLines {
  std::vector<Line> lines;
  std::vector<std::int64_t> steps;  // signed
};

std::int64_t modulo(std::int64_t value, std::int64_t modulus) {
  const std::int64_t rest = value % modulus;
  return rest < 0 ? rest + modulus : rest;
}

RotatedLines rotations_of(std::int64_t slots, std::vector<std::int64_t>& codes) {
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  RotatedLines found;
  found.steps.reserve(codes.size());
  for (const std::int64_t code : codes) {
    const std::int64_t line = code / slots, steps = code % slots;
    if (found.lines.empty() || found.lines.back().number != line) {
      found.lines.push_back({line, found.steps.size(), found.steps.size()});
    }
    found.steps.push_back(2 * steps > slots ? steps - slots : steps);
    found.lines.back().end = found.steps.size();
  }
  return found;
}

/// A set of numbers below a size that is emptied in no time.
class Marks {
 public:
  explicit Marks(std::size_t size) : seen_(size, 0) {}
  void clear() { ++round_; }
  bool add(std::int64_t number) {
    std::uint32_t& mark = seen_[static_cast<std::size_t>(number)];
    if (mark == round_) return false;
    mark = round_;
    return true;
  }

 private:
  std::vector<std::uint32_t> seen_;
  std::uint32_t round_ = 0;
};

class Counter {
 public:
  Counter(std::int64_t slots, const RotatedLines& inputs, const RotatedLines& outputs)
      : slots_(slots),
        inputs_(inputs),
        outputs_(outputs),
        rotations_(static_cast<std::size_t>(slots)),
        keys_(static_cast<std::size_t>(2 * slots)) {}

  SwitchCounts count(const Split& split, std::span<const GiantOrder> orders, bool iterated) {
    SwitchCounts found;
    part(split);
    std::int64_t last = -1;
    for (const Line& line : inputs_.lines) {
      const std::int64_t babies = distinct(line, babies_, line.number % 2 == 1);
      found.babies += babies;
      if (babies > 0 && line.number / 2 != last) {
        ++found.hoists;
        last = line.number / 2;
      }
    }
    for (const Line& line : outputs_.lines) found.giants += distinct(line, giants_, false);
    for (std::size_t number = 0; number < orders.size(); ++number) {
      found.keys[number] = count_keys(orders[number], iterated);
    }
    return found;
  }

 private:
  /// The baby step of each rotation of an input and the giant step of each of an output, in [0, slots).
  void part(const Split& split) {
    const auto baby = [&](std::int64_t steps) {
      const std::int64_t rotation = modulo(steps, split.width);
      return split.centred && rotation > split.width / 2 ? rotation - split.width : rotation;
    };
    babies_.clear();
    for (const std::int64_t steps : inputs_.steps) babies_.push_back(modulo(baby(steps), slots_));
    giants_.clear();
    for (const std::int64_t steps : outputs_.steps) giants_.push_back(modulo(steps - baby(steps), slots_));
  }

  /// Different rotations of a line, those by 0 only if asked for.
  std::int64_t distinct(const Line& line, const std::vector<std::int64_t>& rotations, bool with_zero) {
    rotations_.clear();
    std::int64_t count = 0;
    for (std::size_t i = line.begin; i < line.end; ++i) {
      count += static_cast<std::int64_t>((with_zero || rotations[i] != 0) && rotations_.add(rotations[i]));
    }
    return count;
  }

  std::int64_t count_keys(GiantOrder order, bool iterated) {
    keys_.clear();
    std::int64_t count = 0;
    const auto hold = [&](std::int64_t key) { count += static_cast<std::int64_t>(key != 0 && keys_.add(key)); };
    for (const Line& line : inputs_.lines) {
      if (iterated) {
        along(line, babies_, GiantOrder::kHorner, hold);
        continue;
      }
      const std::int64_t conjugated = line.number % 2 * slots_;
      for (std::size_t i = line.begin; i < line.end; ++i) hold(conjugated + babies_[i]);
    }
    for (const Line& line : outputs_.lines) along(line, giants_, order, hold);
    return count;
  }

  /// The keys of the rotations of one line; in the orders one on top of the other, those from each to the next one.
  template <class Hold>
  void along(const Line& line, const std::vector<std::int64_t>& rotations, GiantOrder order, const Hold& hold) {
    if (order == GiantOrder::kOwn) {
      for (std::size_t i = line.begin; i < line.end; ++i) hold(rotations[i]);
      return;
    }
    rotations_.clear();
    rotations_.add(0);
    sorted_.assign(1, 0);
    for (std::size_t i = line.begin; i < line.end; ++i) {
      if (!rotations_.add(rotations[i])) continue;
      sorted_.push_back(order == GiantOrder::kHorner && 2 * rotations[i] > slots_ ? rotations[i] - slots_
                                                                                  : rotations[i]);
    }
    std::sort(sorted_.begin(), sorted_.end());
    for (std::size_t i = 1; i < sorted_.size(); ++i) {
      const std::int64_t distance = sorted_[i] - sorted_[i - 1];
      hold(modulo(sorted_[i] <= 0 ? -distance : distance, slots_));
    }
  }

  std::int64_t slots_;
  const RotatedLines& inputs_;
  const RotatedLines& outputs_;
  Marks rotations_, keys_;
  std::vector<std::int64_t> babies_, giants_, sorted_;
};

}  // namespace

Counted count_key_switches(const Places& where, std::span<const Split> splits, std::span<const GiantOrder> orders,
                           bool iterated) {
  const std::size_t size = where.steps.size();
  const std::int64_t slots = where.slots;
  std::int64_t inputs = 0;
  for (const std::int64_t in : where.in) inputs = std::max(inputs, in + 1);
  std::vector<std::int64_t> of_inputs(size), of_outputs(size), of_all(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::int64_t steps = modulo(where.steps[i], slots), input = 2 * where.in[i] + where.conj[i];
    of_inputs[i] = input * slots + steps;
    of_outputs[i] = where.out[i] * slots + steps;
    of_all[i] = (where.out[i] * 2 * inputs + input) * slots + steps;
  }
  Counted found;
  std::sort(of_all.begin(), of_all.end());
  found.products = std::unique(of_all.begin(), of_all.end()) - of_all.begin();
  const RotatedLines read = rotations_of(slots, of_inputs), made = rotations_of(slots, of_outputs);
  found.read = static_cast<std::int64_t>(read.lines.size());
  found.made = static_cast<std::int64_t>(made.lines.size());
  Counter counter(slots, read, made);
  found.splits.reserve(splits.size());
  for (const Split& split : splits) found.splits.push_back(counter.count(split, orders, iterated));
  return found;
}

}  // namespace lw::maps
