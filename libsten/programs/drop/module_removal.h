// SPDX-License-Identifier: Apache-2.0
// The changes of a checkpoint's tensors when layers and experts of a causal language model are
// removed.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "libsten/core/tensor/dense.h"
#include "libsten/model/graph/graph.h"
#include "libsten/model/nn/causal_layers.h"

namespace sten {

// The n - `removed` indices of scores with the largest ones, ascending; of equal scores, the first.
std::vector<Index> largest(const std::vector<double>& scores, Index removed);

// The rows of x [n, ...], in order.
Dense rows_of(const Dense& x, const std::vector<Index>& rows);

class ModuleRemoval {
 public:
  // `kept`: ascending indices of layers; `experts`: of experts, by layer; empty: all experts. The
  // graph says which names its weights have in files.
  ModuleRemoval(CausalLayers layers, const Graph& graph, std::vector<Index> kept,
                std::vector<std::vector<Index>> experts);

  // The new name of a tensor; none if it is removed.
  std::optional<std::string> name_of(const std::string& tensor) const;
  // The experts whose rows the tensor keeps, of a router or a stack of all experts; nullptr: all
  // rows.
  const std::vector<Index>* rows_of(const std::string& tensor) const;

 private:
  struct Place {
    const std::string* list;  // of layers
    Index layer;
    std::string_view rest;
  };
  std::optional<Place> find(const std::string& tensor) const;
  const std::vector<Index>* experts_of(Index layer) const;

  CausalLayers layers_;
  std::set<std::string> lists_;  // the names of the list of layers in files
  std::vector<Index> kept_;
  std::vector<std::vector<Index>> experts_;
};

}  // namespace sten
