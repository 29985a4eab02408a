// The draft of an import as a graph.
#include <algorithm>
#include <map>
#include <set>

#include "libsten/base/text.h"
#include "libsten/onnx/draft.h"

namespace sten {
namespace {

class Finish {
 public:
  explicit Finish(const Draft& draft)
      : draft_(draft), names_(draft.size()), is_needed_(draft.size()) {}

  Graph graph() {
    need_outputs();
    for (DraftRef v = 0; v < draft_.size(); ++v) {
      const DraftValue& x = draft_[v];
      if (x.step || x.constant) continue;
      if (x.is_weight && !is_needed_[v]) continue;
      take(v, x.name);
      if (x.is_weight)
        add_weight(v);
      else
        parts_.inputs.push_back(names_[v]);
    }
    for (const Draft::Output& o : draft_.outputs()) {
      take(o.value, o.name);
      parts_.outputs.push_back(names_[o.value]);
    }
    for (DraftRef v = 0; v < draft_.size(); ++v) {
      if (!is_needed_[v] || !draft_[v].constant) continue;
      if (names_[v].empty()) take(v, draft_[v].name.empty() ? "constant" : draft_[v].name);
      parts_.constants.push_back({names_[v], *draft_[v].constant});
    }
    for (const std::size_t s : order_)
      if (names_[draft_.steps()[s].out].empty())
        take(draft_.steps()[s].out, draft_.steps()[s].name);
    for (const std::size_t s : order_) add_node(draft_.steps()[s]);
    return Graph(std::move(parts_));
  }

 private:
  // Outputs, and all that they are computed from, in the order of the file, in which they can run.
  void need_outputs() {
    std::vector<DraftRef> open;
    for (const Draft::Output& o : draft_.outputs()) open.push_back(o.value);
    while (!open.empty()) {
      const DraftRef v = open.back();
      open.pop_back();
      if (is_needed_[v]) continue;
      is_needed_[v] = true;
      if (!draft_[v].step) continue;
      order_.push_back(*draft_[v].step);
      const DraftStep& step = draft_.steps()[*draft_[v].step];
      open.insert(open.end(), step.in.begin(), step.in.end());
    }
    std::ranges::sort(order_);
  }

  void take(DraftRef v, const std::string& wanted) {
    std::string name = wanted;
    for (int& i = next_[wanted]; !taken_.insert(name).second;)
      name = fmt::format("{}.{}", wanted, i = std::max(i + 1, 2));
    names_[v] = std::move(name);
  }

  void add_weight(DraftRef v) {
    Weight w{names_[v], {}};
    all_known(*draft_[v].shape, w.shape);
    w.in_by_out = draft_[v].in_by_out;
    parts_.weights.push_back(std::move(w));
  }

  void add_node(const DraftStep& step) {
    Node n{names_[step.out], step.op, {}, step.attributes};
    for (const DraftRef r : step.in) n.inputs.push_back(names_[r]);
    parts_.nodes.push_back(std::move(n));
  }

  const Draft& draft_;
  std::vector<std::string> names_;
  std::vector<bool> is_needed_;
  std::vector<std::size_t> order_;
  std::set<std::string, std::less<>> taken_;
  std::map<std::string, int> next_;  // number for a name that is taken
  GraphParts parts_;
};

}  // namespace

Graph finish(const Draft& draft) { return Finish(draft).graph(); }

}  // namespace sten
