// SPDX-License-Identifier: Apache-2.0
// Loading and saving a graph's weights.
#pragma once
#include <map>

#include "libsten/files/checkpoint/checkpoint_output.h"
#include "libsten/model/graph/graph.h"

namespace sten {

// The entries of a file with the weight's name or one of its aliases; valid as long as the file.
std::vector<const CheckpointTensor*> weight_entries(const Weight& w, const Checkpoint& file);

// The weight as a part of a tensor of the file; nullptr if it is not stacked there.
const StackedWeight* stacked_entry(const Weight& w, const Checkpoint& file);

// Handling of BF16 and F16: Error; BF16 unchanged (for an Executor) and F16 to F32; both to F32.
enum class LowWeights { refused, unchanged, widened };

// The weights of a graph in a file, loaded one at a time; see load_weights().
class StoredWeights {
 public:
  // Error (input) as load_weights(), but for entries that differ. The file must outlive the object.
  StoredWeights(const Graph& g, const Checkpoint& file, const std::vector<std::string>& unused = {},
                const std::vector<std::string>& may_lack = {},
                LowWeights low = LowWeights::refused);

  // A weight of the graph, as load_weights(); nullopt if it is missing and may be. Error (input) if entries of the weight differ.
  std::optional<Tensor> load(const Weight& w);
  // Releases the file's memory, which loaded weights may still borrow.
  void release();

 private:
  // Part of a tensor that stacks weights, which is read once; shares its memory unless widened.
  Tensor load_part(const CheckpointTensor& t, Index first, const Shape& shape);

  const Checkpoint& file_;
  const LowWeights low_;
  const bool is_transposed_;
  std::map<std::string_view, Dense> stacks_;
};

// Loads the graph's weights by name, each in its layout in the file; dense weights borrow the
// file's memory. Matrices that the file has as [in, out] and the graph as [out, in] are transposed
// with their layout, or to dense with a warning if the layout cannot hold the result. This applies
// to files derived from such a file too, unless save_weights() wrote them. A weight may have one of
// its aliases as name; several entries of a weight must be equal. Weights without an entry are
// taken from the tensors that stack them. Error (input) lists all weights
// that are missing, of another shape or not F32, and all tensors that are neither weights nor
// matched by a glob of `unused`. Missing weights that match a glob of `may_lack` are left out.
NamedValues<Tensor> load_weights(const Graph& g, const Checkpoint& file,
                                 const std::vector<std::string>& unused = {},
                                 const std::vector<std::string>& may_lack = {},
                                 LowWeights low = LowWeights::refused);

// Metadata key of a graph's formats, as SparsityBuilder::to_json() writes them.
inline constexpr const char* formats_key = "sten.sparsity";

// Metadata key of files whose matrices are [out, in] where those of the ONNX model are not.
inline constexpr const char* orientation_key = "sten.orientation";
// This metadata, for a graph that has such matrices.
Metadata orientation_of(const Graph& g);

// g with the formats in the file; g itself if the file has none. Error (input) if they do not fit
// the graph.
Graph load_sparsity(const Graph& g, const Checkpoint& file);

// Writes the graph's weights, in its order, and its formats to one safetensors file, which appears
// whole or not at all. Error (usage) lists weights that are missing or of another shape; Error
// (usage) if the file exists, unless `overwrite`. The metadata record matrices that are transposed
// relative to the graph's ONNX file. With in_by_out, these are written transposed back, as in that
// file, and must be dense. others: further tensors, written last.
void save_weights(const Graph& g, const NamedValues<Tensor>& weights, const std::string& path,
                  bool overwrite = false, Metadata metadata = {{"format", "pt"}},
                  bool in_by_out = false, const NamedValues<Tensor>& others = {});

// Why the graph's weights cannot replace those of its ONNX file `model`; "" if they can.
std::string why_not_onnx(const Graph& g, const Checkpoint& model);
// Writes a copy of `model` and its external data with the values of the graph's weights replaced.
// All files appear, or none. Error (usage) if one exists, unless `overwrite`.
void save_onnx(const Graph& g, const NamedValues<Tensor>& weights, const Checkpoint& model,
               const std::string& path, bool overwrite = false);

}  // namespace sten
