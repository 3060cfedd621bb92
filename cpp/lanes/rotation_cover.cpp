#include "lanes/rotation_cover.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace lw::lanes {
namespace {

struct Offer {
  Number source, steps, want;

  // Ascending by register, then by rotation; wants are ascending as they are offered.
  std::uint64_t key() const {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(source)) << 32 | static_cast<std::uint32_t>(steps);
  }
};

// All offers of one register by one rotation.
struct Bundle {
  std::size_t begin, end;
};

std::vector<Bundle> bundles_of(std::vector<Offer>& offers) {
  std::sort(offers.begin(), offers.end(),
            [](const Offer& a, const Offer& b) { return a.key() != b.key() ? a.key() < b.key() : a.want < b.want; });
  std::vector<Bundle> bundles;
  for (std::size_t i = 0; i < offers.size();) {
    std::size_t end = i;
    while (end < offers.size() && offers[end].key() == offers[i].key()) ++end;
    bundles.push_back({i, end});
    i = end;
  }
  return bundles;
}

// Bundles in the order in which those that hold equally many are taken: without a rotation, by one that there is, by a
// new one; of these the registers first that hold least, so that little is in the way of others, and later ones.
std::vector<Bundle> rank_bundles(const Builder& builder, const std::vector<Offer>& offers,
                                 std::vector<Bundle> bundles) {
  std::vector<std::size_t> firsts;  // bundle where each register begins
  std::vector<unsigned char> prices;
  for (std::size_t i = 0; i < bundles.size(); ++i) {
    const Offer& offer = offers[bundles[i].begin];
    if (i == 0 || offers[bundles[i - 1].begin].source != offer.source) firsts.push_back(i);
    prices.push_back(static_cast<unsigned char>(offer.steps == 0                                ? 0
                                                : builder.is_rotated(offer.source, offer.steps) ? 1
                                                                                                : 2));
  }
  std::vector<std::size_t> order(firsts.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto size = [&](std::size_t group) {
      return builder.content(offers[bundles[firsts[group]].begin].source).size();
    };
    return size(a) < size(b);
  });
  std::vector<Bundle> result;
  result.reserve(bundles.size());
  for (unsigned char price = 0; price < 3; ++price) {
    for (const std::size_t group : order) {
      const std::size_t end = group + 1 < firsts.size() ? firsts[group + 1] : bundles.size();
      for (std::size_t i = firsts[group]; i < end; ++i) {
        if (prices[i] == price) result.push_back(bundles[i]);
      }
    }
  }
  return result;
}

// Greedily the bundle that holds most of what is missing, ties by rank. Counts only fall: those that are thought to
// hold `count` are looked at once, in order, and go where they belong by then if they hold less.
std::vector<Part> choose_parts(Builder& builder, std::vector<Offer> offers, const std::vector<Want>& wants) {
  builder.add_work(static_cast<double>(offers.size()));
  const std::vector<Bundle> bundles = rank_bundles(builder, offers, bundles_of(offers));
  std::vector<std::vector<std::size_t>> holding;  // bundles by how many wants they hold at most
  for (std::size_t i = 0; i < bundles.size(); ++i) {
    const std::size_t count = bundles[i].end - bundles[i].begin;
    if (count >= holding.size()) holding.resize(count + 1);
    holding[count].push_back(i);
  }
  std::vector<unsigned char> is_held(wants.size(), 0);
  std::size_t missing = wants.size();
  std::vector<Part> parts;
  for (std::size_t count = holding.size(); count-- > 1 && missing > 0;) {
    std::sort(holding[count].begin(), holding[count].end());
    for (const std::size_t number : holding[count]) {
      if (missing == 0) break;
      const Bundle& bundle = bundles[number];
      std::size_t held = 0;
      for (std::size_t i = bundle.begin; i < bundle.end; ++i) held += is_held[offers[i].want] == 0;
      if (held < count) {
        holding[held].push_back(number);
        continue;
      }
      std::vector<Number> lanes;
      lanes.reserve(held);
      for (std::size_t i = bundle.begin; i < bundle.end; ++i) {
        if (std::exchange(is_held[offers[i].want], 1) == 0) lanes.push_back(wants[offers[i].want].lane);
      }
      std::sort(lanes.begin(), lanes.end());
      missing -= lanes.size();
      parts.push_back({offers[bundle.begin].source, offers[bundle.begin].steps, std::move(lanes)});
    }
  }
  if (missing > 0) return {};
  return parts;
}

}  // namespace

std::vector<Part> cover(Builder& builder, const std::vector<Want>& wants) {
  const Number width = builder.circuit().width;
  std::vector<Offer> offers;
  for (std::size_t i = 0; i < wants.size(); ++i) {
    const Number want = static_cast<Number>(i);
    if (wants[i].source >= 0) {
      offers.push_back({wants[i].source, wants[i].steps, want});
      continue;
    }
    for (const ValuePlace& place : builder.places(wants[i].value)) {
      offers.push_back({place.instruction, modulo(place.lane - wants[i].lane, width), want});
    }
  }
  return choose_parts(builder, std::move(offers), wants);
}

std::vector<Part> cover_from(Builder& builder, Number source, const Content& content, const std::vector<Want>& wants) {
  const Number width = builder.circuit().width;
  std::vector<std::pair<Number, Number>> order;  // wanted value, want
  for (std::size_t i = 0; i < wants.size(); ++i) order.emplace_back(wants[i].value, static_cast<Number>(i));
  std::sort(order.begin(), order.end());
  std::vector<Offer> offers;
  for (const Held& held : content) {
    if (held.value < 0) continue;
    for (auto it = std::lower_bound(order.begin(), order.end(), std::pair<Number, Number>(held.value, -1));
         it != order.end() && it->first == held.value; ++it) {
      offers.push_back({source, modulo(held.lane - wants[it->second].lane, width), it->second});
    }
  }
  return choose_parts(builder, std::move(offers), wants);
}

}  // namespace lw::lanes
