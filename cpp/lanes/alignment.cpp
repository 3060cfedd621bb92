#include "lanes/alignment.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "lanes/quotient.hpp"

namespace lw::lanes {
namespace {

class ListScheduler {
 public:
  ListScheduler(const ScalarCircuit& circuit, const std::vector<Number>& epoch, const std::vector<Number>& lane)
      : circuit_(circuit), epoch_(epoch), lane_(lane), path_(circuit.nodes.size(), 1), missing_(circuit.nodes.size()) {
    for (std::size_t node = circuit.nodes.size(); node-- > 0;) {
      if (epoch[node] < 0) continue;
      const auto [left, right] = operands(circuit.nodes[node]);
      for (const Number operand : {left, right}) {
        if (operand < 0 || epoch[operand] != epoch[node]) continue;
        path_[operand] = std::max(path_[operand], path_[node] + 1);
        ++missing_[node];
      }
    }
    readers_.resize(circuit.nodes.size());
    for (std::size_t node = 0; node < circuit.nodes.size(); ++node) {
      if (missing_[node] == 0) continue;
      const auto [left, right] = operands(circuit.nodes[node]);
      for (const Number operand : {left, right}) {
        if (operand >= 0 && epoch[operand] == epoch[node]) readers_[operand].push_back(static_cast<Number>(node));
      }
    }
  }

  void schedule(const std::vector<Number>& nodes, std::vector<Pack>& packs) {
    std::vector<Number> ready;
    for (const Number node : nodes) {
      if (missing_[node] == 0) ready.push_back(node);
    }
    while (!ready.empty()) {
      Pack pack = next(ready);
      for (const Number node : pack.nodes) {
        ready.erase(std::find(ready.begin(), ready.end(), node));
        for (const Number reader : readers_[node]) {
          if (--missing_[reader] == 0) ready.push_back(reader);
        }
      }
      packs.push_back(std::move(pack));
    }
  }

 private:
  Pack next(const std::vector<Number>& ready) const {
    std::array<std::map<Number, Number>, kNumCodes> chosen;  // operation of each lane
    for (const Number node : ready) {
      auto [at, is_new] = chosen[static_cast<std::size_t>(circuit_.nodes[node].code)].insert({lane_[node], node});
      if (!is_new && precedes(node, at->second)) at->second = node;
    }
    std::size_t best = 0;
    for (std::size_t code = 1; code < chosen.size(); ++code) {
      if (chosen[code].size() > chosen[best].size()) best = code;
    }
    Pack pack{static_cast<Code>(best), {}};
    for (const auto& entry : chosen[best]) pack.nodes.push_back(entry.second);
    return pack;
  }

  bool precedes(Number a, Number b) const { return path_[a] != path_[b] ? path_[a] > path_[b] : a < b; }

  const ScalarCircuit& circuit_;
  const std::vector<Number>& epoch_;
  const std::vector<Number>& lane_;
  std::vector<Number> path_;     // operations of the longest path to the end of the epoch
  std::vector<Number> missing_;  // operands in the epoch that are not scheduled yet
  std::vector<std::vector<Number>> readers_;
};

}  // namespace

std::vector<Pack> list_schedule(const ScalarCircuit& circuit, const std::vector<Number>& epoch,
                                const std::vector<Number>& lane) {
  std::map<Number, std::vector<Number>> nodes_of;
  for (std::size_t node = 0; node < circuit.nodes.size(); ++node) {
    if (circuit.nodes[node].code != Code::kInput) nodes_of[epoch[node]].push_back(static_cast<Number>(node));
  }
  ListScheduler scheduler(circuit, epoch, lane);
  std::vector<Pack> packs;
  for (const auto& entry : nodes_of) scheduler.schedule(entry.second, packs);
  return packs;
}

}  // namespace lw::lanes
