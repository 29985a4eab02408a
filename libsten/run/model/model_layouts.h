// In which layouts the weights of a model are when it runs.
#pragma once
#include "libsten/graph/fastest_layouts.h"
#include "libsten/graph/ignored_zeros.h"
#include "libsten/report/report.h"
#include "libsten/run/model/model_source.h"

namespace sten {

// A weight that takes longer in its layout than it would dense.
struct SlowerLayout {
  std::string weight, layout;
  double times;   // as long
  bool measured;  // else the times were known
};

struct SetLayouts {
  std::vector<std::string> notes;      // sentences about what came of it
  std::vector<LayoutChoice> measured;  // of "auto"
  std::vector<IgnoredZeros> ignored;   // of the model as it runs,
  Index sparse = 0;                    // of so many sparse weights
  std::vector<SlowerLayout> slower;    // the same, as far as times are known
};

// PATTERN=SPEC for the weights that the pattern matches, of which the first rule counts; or "auto":
// every other one in the layout in which these inputs are computed the fastest in that precision, by
// LayoutCache or measured. Error (usage) for a pattern that matches nothing, and where a layout does
// not hold a weight.
SetLayouts set_layouts(const std::vector<std::string>& rules, const NamedValues<Tensor>& inputs,
                       const std::vector<PrecisionRule>& precision, RunnableModel& model);

// "csr 0.52 ms, dense 1.2 ms; measured", or "from the cache".
std::string candidates_of(const LayoutChoice& choice);

// Fills in what the model does with its zeros, after an executor of it ran with the inputs: `plan`.
// Times are those of LayoutCache; with `measures`, weights without are measured, and the cache is
// written.
void check_layouts(const RunnableModel& model, const NamedValues<Tensor>& inputs,
                   const std::vector<PrecisionRule>& precision, const ExecutionPlan& plan,
                   bool measures, SetLayouts& layouts);
// "2 weights are slower in their layout than dense, 'a.weight' in csr the most: 1.90 times as long".
std::string describe(const std::vector<SlowerLayout>& slower);

// Notes; "layouts/WEIGHT/...": the layout, "measured" or "cache", and seconds by layout;
// "ignored_zeros/WEIGHT": the operator; "slower_than_dense/WEIGHT/...": the layout, "measured" or
// "cache", and how many times as long.
void add_layouts(const SetLayouts& layouts, Report& r);
}  // namespace sten
