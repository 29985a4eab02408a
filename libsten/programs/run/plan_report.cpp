// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/plan_report.h"

#include <algorithm>

#include "libsten/core/base/text.h"
#include "libsten/programs/run/model_layouts.h"

namespace sten {
namespace {

// "encoder.0.query and 3 more".
std::string named(const std::vector<std::string>& nodes) {
  if (nodes.size() < 2) return nodes.empty() ? "" : nodes.front();
  return fmt::format("{} and {} more", nodes.front(), nodes.size() - 1);
}

bool is_alike(const ExecutionStep& a, const ExecutionStep& b) {
  return a.nodes == b.nodes && a.runs == b.runs && a.layout == b.layout && a.why == b.why &&
         a.precision == b.precision;
}

}  // namespace

void PlanSums::add(const ExecutionPlan& plan) {
  ++batches_;
  weight_bytes_ = std::max(weight_bytes_, plan.weight_bytes);
  live_bytes_ = std::max(live_bytes_, plan.live_bytes);
  peak_bytes_ = std::max(peak_bytes_, plan.peak_bytes);
  // Plans of one shape have the same order; search only if a step differs.
  std::size_t next = 0;
  for (const ExecutionStep& s : plan.steps) {
    const auto alike = [&](const ExecutionStep& other) { return is_alike(s, other); };
    auto at = std::find_if(steps_.begin() + static_cast<std::ptrdiff_t>(next), steps_.end(), alike);
    if (at == steps_.end()) {
      at = steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(next), s);
    } else {
      at->seconds += s.seconds;
      at->flops += s.flops;
      at->bytes += s.bytes;
    }
    next = static_cast<std::size_t>(at - steps_.begin()) + 1;
  }
}

void PlanSums::explain(const std::vector<LayoutChoice>& choices, Report& r) const {
  r.item = "steps";
  r.columns = {{"name", "nodes", Unit::text},
               {"runs", "runs", Unit::text},
               {"layout", "layout", Unit::text},
               {"ms", "ms", Unit::measured},
               {"share", "share", Unit::fraction},
               {"gflops", "GFLOP/s", Unit::measured},
               {"gbytes", "GB/s", Unit::measured},
               {"why", "why", Unit::text},
               {"candidates", "candidates", Unit::text},
               {"nodes", "", Unit::count, true}};
  const bool has_low = std::ranges::count(steps_, Precision::bf16, &ExecutionStep::precision) > 0;
  if (has_low) r.columns.insert(r.columns.begin() + 3, {"precision", "precision", Unit::text});
  r.optional_columns = {"why", "candidates", "gbytes", "gflops"};
  r.rows.clear();
  std::map<std::string_view, const LayoutChoice*> chosen;
  for (const LayoutChoice& c : choices)
    for (const std::string& node : c.nodes) chosen.emplace(node, &c);
  double all = 0;
  for (const ExecutionStep& s : steps_) all += s.seconds;
  for (const ExecutionStep& s : steps_) {
    auto& row = r.rows.emplace_back();
    r.at(row, "name") = named(s.nodes);
    r.at(row, "runs") = s.runs;
    r.at(row, "layout") = s.layout.empty() ? "dense" : s.layout;
    if (has_low) r.at(row, "precision") = std::string(name_of(s.precision));
    r.at(row, "ms") = 1e3 * s.seconds;
    r.at(row, "share") = all > 0 ? s.seconds / all : 0;
    if (s.flops > 0 && s.seconds > 0) r.at(row, "gflops") = s.flops / s.seconds / 1e9;
    if (s.bytes > 0 && s.seconds > 0) r.at(row, "gbytes") = s.bytes / s.seconds / 1e9;
    r.at(row, "why") = s.why;
    for (const std::string& node : s.nodes)
      if (const auto at = chosen.find(node); at != chosen.end())
        r.at(row, "candidates") = candidates_of(*at->second);
    r.at(row, "nodes") = std::ssize(s.nodes);
  }
  r.charts.push_back(largest_values_chart(r, "ms", "Time of the steps"));
  r.facts.emplace_back("explained/batches", batches_);
  r.facts.emplace_back("memory/weights", weight_bytes_);
  const bool knows_values = peak_bytes_ > 0;
  if (knows_values) {
    r.facts.emplace_back("memory/live", live_bytes_);
    r.facts.emplace_back("memory/peak", peak_bytes_);
  }
  const auto shown = [](Index bytes) { return human_bytes(static_cast<std::uint64_t>(bytes)); };
  r.notes.push_back(fmt::format(
      "{} steps, {}; weights take {}{}", steps_.size(),
      batches_ == 1 ? std::string("of one batch") : fmt::format("the sums of {} batches", batches_),
      shown(weight_bytes_),
      knows_values ? fmt::format(", values at most {}, at one time at most {}", shown(peak_bytes_),
                                 shown(live_bytes_))
                   : std::string()));
}

}  // namespace sten
