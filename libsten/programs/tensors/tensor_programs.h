// SPDX-License-Identifier: Apache-2.0
// sten-prune, sten-convert and sten-energy for tensors in memory: their options, selection of
// tensors and results, without files and reports. Messages name options as the programs do.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libsten/core/base/spec.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

// A state dict: names and tensors, in its order.
using TensorList = std::vector<std::pair<std::string, Tensor>>;

// Name patterns (docs/pruning.md); without `include`, the programs' default selection.
struct TensorPatterns {
  std::vector<std::string> include = {}, exclude = {};
};

// Options of sten-prune, with the values of its flags.
struct PruneSettings {
  std::optional<double> sparsity = {};     // fraction of zeros, [0, 1]
  std::string method = "magnitude";        // or random, threshold
  std::optional<double> at = {};           // of method threshold
  std::string scope = {};                  // "": local; or global
  std::string structure = "unstructured";  // or block, nm, nmg or nmgv
  std::string to = "dense";                // a layout, or "auto"
  std::string nan = "error";               // or keep, zero
  std::uint64_t seed = 0;                  // of method random
};

// Returns the tensors that are pruned, by `rules` (PATTERN=SPEC) and settings. The same values as
// sten-prune's. Error as for sten-prune.
TensorList prune_tensors(const TensorList& model, const PruneSettings& settings,
                         const TensorPatterns& patterns, const std::vector<std::string>& rules);
// Prunes a tensor of rank 2 or more and prunable dtype.
Tensor prune_tensor(const Tensor& x, const PruneSettings& settings);

// Returns the tensors that are converted to the layout `to`, or to the smallest layout for "auto".
// Structured layouts prune what they cannot hold; with `lossless`, that is an Error (check).
TensorList convert_tensors(const TensorList& model, const std::string& to,
                           const TensorPatterns& patterns, bool lossless);
Tensor convert_tensor(const Tensor& x, const std::string& to, bool lossless);

// Measures of a tensor, or sums over tensors.
struct TensorEnergy {
  std::string name;
  Index elements = 0;
  Index nnz = 0;    // stored positions of sparse tensors, nonzeros of dense ones
  Index zeros = 0;  // elements that are 0 or -0.0
  Index bytes = 0;  // of all parts
  // sum |original| over kept positions / sum |original|; no value without an original.
  std::optional<double> energy;
};
// Measures the selected tensors against those of `original`, which may be nullptr; the total comes
// last, without a name. Error if `original` lacks a tensor or has another shape.
std::vector<TensorEnergy> tensor_energies(const TensorList& model, const TensorList* original,
                                          const TensorPatterns& patterns);
TensorEnergy tensor_energy(const Tensor& x, const Tensor* original);

// The indices of the names that match a pattern, ascending. Error (usage) without a match: "WHAT
// PATTERN matches none of the 12 KIND of OF", with the nearest names.
std::vector<std::size_t> matching_names(const std::vector<std::string>& names,
                                        const std::string& pattern, const std::string& what,
                                        const std::string& kind, const std::string& of);

}  // namespace sten
