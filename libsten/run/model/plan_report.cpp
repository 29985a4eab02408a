#include "libsten/run/model/plan_report.h"

#include "libsten/base/text.h"

namespace sten {
namespace {

// "encoder.0.query and 3 more".
std::string named(const std::vector<std::string>& nodes) {
  if (nodes.size() < 2) return nodes.empty() ? "" : nodes.front();
  return fmt::format("{} and {} more", nodes.front(), nodes.size() - 1);
}

}  // namespace

void explain(const ExecutionPlan& plan, Report& r) {
  r.item = "steps";
  r.columns = {{"name", "nodes", Unit::text},      {"runs", "runs", Unit::text},
               {"layout", "layout", Unit::text},   {"ms", "ms", Unit::measured},
               {"share", "share", Unit::fraction}, {"gflops", "GFLOP/s", Unit::measured},
               {"gbytes", "GB/s", Unit::measured}, {"why", "why", Unit::text},
               {"nodes", "", Unit::count, true}};
  r.spare = {"why", "gbytes", "gflops"};
  r.rows.clear();
  double all = 0;
  for (const ExecutionStep& s : plan.steps) all += s.seconds;
  for (const ExecutionStep& s : plan.steps) {
    auto& row = r.rows.emplace_back();
    r.at(row, "name") = named(s.nodes);
    r.at(row, "runs") = s.runs;
    r.at(row, "layout") = s.layout.empty() ? "dense" : s.layout;
    r.at(row, "ms") = 1e3 * s.seconds;
    r.at(row, "share") = all > 0 ? s.seconds / all : 0;
    if (s.flops > 0 && s.seconds > 0) r.at(row, "gflops") = s.flops / s.seconds / 1e9;
    if (s.bytes > 0 && s.seconds > 0) r.at(row, "gbytes") = s.bytes / s.seconds / 1e9;
    r.at(row, "why") = s.why;
    r.at(row, "nodes") = std::ssize(s.nodes);
  }
  r.facts.emplace_back("memory/weights", plan.weight_bytes);
  r.facts.emplace_back("memory/live", plan.live_bytes);
  r.facts.emplace_back("memory/peak", plan.peak_bytes);
  const auto shown = [](Index bytes) { return human_bytes(static_cast<std::uint64_t>(bytes)); };
  r.notes.push_back(fmt::format(
      "{} steps, of the last run; weights take {}, values at most {}, of "
      "which {} are needed at one time",
      plan.steps.size(), shown(plan.weight_bytes), shown(plan.peak_bytes), shown(plan.live_bytes)));
}

}  // namespace sten
