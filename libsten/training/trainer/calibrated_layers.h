// SPDX-License-Identifier: Apache-2.0
// The layers of a model that calibration can prune.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libsten/model/graph/graph.h"

namespace sten {

// A weight [out, in] with the node that it is pruned at: `linear`, or one of an expert of
// `mixture-of-experts`. `node` is an index in Graph::nodes(), `weight` the number of a value.
struct LayerToCalibrate {
  std::size_t node, weight;
  std::optional<Index> expert{};
  bool is_down = false;  // the last weight of an expert, whose input the other two compute

  // Whether both layers have the same input.
  bool has_input_of(const LayerToCalibrate& other, const Graph& g) const;
  // Numbers of the values that the layer's input is made of: x, and for an expert the router's
  // logits.
  std::vector<std::size_t> input_values(const Graph& g) const;
};

// The layers of all wanted weights, in order of execution. A weight belongs to the first node that
// has it.
std::vector<LayerToCalibrate> layers_to_calibrate(
    const Graph& g, const std::function<bool(const std::string& name)>& is_wanted);

}  // namespace sten
