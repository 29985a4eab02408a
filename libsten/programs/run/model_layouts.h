// SPDX-License-Identifier: Apache-2.0
// The layouts of a model's weights during a run.
#pragma once
#include "libsten/model/execution/fastest_layouts.h"
#include "libsten/model/graph/ignored_zeros.h"
#include "libsten/programs/run/model_source.h"
#include "libsten/report/report.h"

namespace sten {

// A weight that is slower in its layout than dense.
struct SlowerLayout {
  std::string weight, layout;
  double times;   // time in its layout divided by the dense time
  bool measured;  // else the times are from the cache
};

struct SetLayouts {
  std::vector<std::string> notes;      // on the results
  std::vector<LayoutChoice> measured;  // choices of "auto"
  std::vector<IgnoredZeros> ignored;   // in the model with these layouts,
  Index sparse = 0;                    // among so many sparse weights
  std::vector<SlowerLayout> slower;    // as far as times are known
};

// Converts weights by rules PATTERN=SPEC, the first match counting; and with "auto", every other
// weight to the layout that is fastest for these inputs in that precision, by LayoutCache or by
// measurement. Error (usage) for a pattern without a match, and for a layout that cannot hold a
// weight.
SetLayouts set_layouts(const std::vector<std::string>& rules, const NamedValues<Tensor>& inputs,
                       const std::vector<PrecisionRule>& precision, RunnableModel& model);

// "csr 0.52 ms, dense 1.2 ms; measured", or "from the cache".
std::string candidates_of(const LayoutChoice& choice);

// Sets `ignored`, `sparse` and `slower` from `plan`, the plan of an executor that ran with the
// inputs. Times are from LayoutCache; with `measures`, missing times are measured and cached.
void check_layouts(const RunnableModel& model, const NamedValues<Tensor>& inputs,
                   const std::vector<PrecisionRule>& precision, const ExecutionPlan& plan,
                   bool measures, SetLayouts& layouts);
// "2 weights are slower in their layout than dense, 'a.weight' in csr the most: 1.90 times as
// long".
std::string describe(const std::vector<SlowerLayout>& slower);

// Adds notes and facts: "layouts/WEIGHT/..." has the layout, "measured" or "cache", and seconds by
// layout; "ignored_zeros/WEIGHT" the operator; "slower_than_dense/WEIGHT/..." the layout,
// "measured" or "cache", and the ratio of times.
void add_layouts(const SetLayouts& layouts, Report& r);
}  // namespace sten
