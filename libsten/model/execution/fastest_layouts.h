// SPDX-License-Identifier: Apache-2.0
// Fastest layouts of a graph's weights on this machine.
#pragma once
#include "libsten/model/execution/executor.h"
#include "libsten/model/graph/nonzeros.h"

namespace sten {

// Seconds of the nodes of a weight, by layout.
using SecondsByLayout = std::map<std::string, double>;
// Times by the key of equivalent weights: shape, layout, share of nonzeros, supported layouts, and
// the nodes with their number of tokens. For one machine and number of threads.
using LayoutTimes = std::map<std::string, SecondsByLayout>;

struct LayoutChoice {
  std::string weight;
  std::vector<std::string> nodes;  // nodes of the weight
  std::string use;                 // key in LayoutTimes
  SecondsByLayout seconds;
  std::string layout;  // the fastest
  bool measured;       // false: all times were known
};

struct FastestLayouts {
  NamedValues<Tensor> weights;
  std::vector<LayoutChoice> choices;  // for examined weights
};

// Converts the named weights to the layouts in which an Executor of the graph runs their nodes
// fastest: the current one, dense, csr, or n:m of 2:4, 1:4 or 1:8, if the layout holds all elements
// and the operators support it directly. No element changes. `values`: inputs and weights of the
// graph by name. `precision`: as in ExecutorOptions; bfloat16 nodes have other times.
//
// Runs the executor once. If a weight has no times in `known`, converts all such weights to one
// layout after the other, and runs four times with each. The minimum of the last three times,
// averaged over equivalent weights, is added to `known`. Dense weights that are not sparse
// (most_nonzeros) are skipped.
FastestLayouts in_fastest_layouts(const Graph& g, const NamedValues<Tensor>& values,
                                  const std::vector<std::string>& names, LayoutTimes& known,
                                  const std::vector<PrecisionRule>& precision = {});

// Returns the choices for weights with known times, without measuring: `seconds`, and the fastest
// as `layout`. `plan`: of an Executor that ran the graph with these values and precision.
std::vector<LayoutChoice> known_choices(const Graph& g, const NamedValues<Tensor>& values,
                                        const std::vector<std::string>& names,
                                        const LayoutTimes& known, const ExecutionPlan& plan,
                                        const std::vector<PrecisionRule>& precision = {});

// Smaller slowdowns are noise.
inline constexpr double least_slowdown = 1.05;
// The weight's time in that layout divided by its dense time; none unless both are known and the
// ratio is above least_slowdown.
std::optional<double> slowdown(const LayoutChoice& choice, const std::string& layout);

}  // namespace sten
