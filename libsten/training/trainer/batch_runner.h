// SPDX-License-Identifier: Apache-2.0
// The weights of a model, loaded as its parts are run.
#pragma once
#include <functional>
#include <set>

#include "libsten/model/graph/graph.h"
#include "libsten/training/trainer/calibrated_layers.h"
#include "libsten/training/trainer/segment.h"

namespace sten {

class BatchRunner {
 public:
  // Runs nodes before `end` only. `weight`: see WalkRequest.
  BatchRunner(const Graph& graph, std::size_t end,
              std::function<Tensor(const std::string& name)> weight);

  // Numbers of the values that nodes before `node` compute and nodes from there on need.
  std::vector<std::size_t> live_at(std::size_t node) const;
  // The nodes from `begin` on that compute the values.
  Segment segment(std::size_t begin, const std::vector<std::size_t>& values) {
    return {graph_, begin, values,
            [&](std::size_t value) -> const Tensor& { return stored(value); }};
  }
  // The input of a layer. Of an expert: the rows of the tokens that `routing`, the values of the
  // pruned model, routes to it, and of its last weight what its other weights make of them.
  Tensor input_of(const LayerToCalibrate& layer, const BatchValues& values,
                  const BatchValues& routing);

  // Takes weights that neither has replaced from the other runner, which must outlive this one.
  void share_with(const BatchRunner& other) { other_ = &other; }
  // A weight or constant, loaded at its first use.
  const Tensor& stored(std::size_t value);
  void replace(std::size_t weight, Tensor x);
  // Releases weights that nodes from `node` on do not need. Returns whether all that are left are
  // those of the file.
  bool release_before(std::size_t node);

 private:
  bool is_table(std::size_t value) const;
  Tensor loaded(std::size_t value) const;

  const Graph& graph_;
  const std::size_t end_;
  std::function<Tensor(const std::string&)> weight_;
  std::vector<std::size_t> last_use_;     // by number: the last node that needs it
  std::map<std::size_t, Tensor> stored_;  // by number
  std::set<std::size_t> changed_;         // weights that were replaced
  const BatchRunner* other_ = nullptr;
};

}  // namespace sten
