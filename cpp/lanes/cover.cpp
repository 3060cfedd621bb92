#include "lanes/cover.hpp"

#include <algorithm>

namespace lw::lanes {
namespace {

struct Offer {
  Number source, steps, want;
};

bool is_cheaper(const Builder& builder, const Offer& a, const Offer& b) {
  const auto price = [&](const Offer& offer) {
    return offer.steps == 0 ? 0 : builder.is_rotated(offer.source, offer.steps) ? 1 : 2;
  };
  if (price(a) != price(b)) return price(a) < price(b);
  return a.source > b.source;  // later registers hold less that is not wanted
}

std::vector<Part> chosen(Builder& builder, std::vector<Offer> offers, const std::vector<Want>& wants) {
  std::sort(offers.begin(), offers.end(), [](const Offer& a, const Offer& b) {
    return a.source != b.source ? a.source < b.source : a.steps != b.steps ? a.steps < b.steps : a.want < b.want;
  });
  std::vector<unsigned char> is_held(wants.size(), 0);
  std::size_t missing = wants.size();
  std::vector<Part> parts;
  while (missing > 0) {
    builder.add_work(static_cast<double>(offers.size()) / 2);
    std::size_t best = 0, best_end = 0;
    Number most = 0;
    for (std::size_t i = 0; i < offers.size();) {
      std::size_t end = i;
      Number count = 0;
      for (; end < offers.size() && offers[end].source == offers[i].source && offers[end].steps == offers[i].steps;
           ++end) {
        count += is_held[offers[end].want] == 0;
      }
      if (count > most || (count == most && count > 0 && is_cheaper(builder, offers[i], offers[best]))) {
        best = i;
        best_end = end;
        most = count;
      }
      i = end;
    }
    if (most == 0) return {};
    Part part{offers[best].source, offers[best].steps, {}};
    for (std::size_t i = best; i < best_end; ++i) {
      unsigned char& held = is_held[offers[i].want];
      if (held != 0) continue;
      held = 1;
      part.lanes.push_back(wants[offers[i].want].lane);
    }
    std::sort(part.lanes.begin(), part.lanes.end());
    missing -= part.lanes.size();
    parts.push_back(std::move(part));
  }
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
    for (const Place& place : builder.places(wants[i].value)) {
      offers.push_back({place.instruction, modulo(place.lane - wants[i].lane, width), want});
    }
  }
  return chosen(builder, std::move(offers), wants);
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
  return chosen(builder, std::move(offers), wants);
}

}  // namespace lw::lanes
