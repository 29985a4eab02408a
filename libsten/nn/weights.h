// Weights of a graph, from checkpoints and to them.
#pragma once
#include "libsten/graph/graph.h"
#include "libsten/io/checkpoint_output.h"

namespace sten {

// The file's entries for a weight: those with its name or one of its aliases. They live as long as
// the file.
std::vector<const CheckpointTensor*> weight_entries(const Weight& w, const Checkpoint& file);

// BF16 and F16 do not fit; or BF16 stays, for an Executor, and F16 becomes F32; or both do.
enum class LowWeights { refused, unchanged, widened };

// The graph's weights by their names, each in its layout in the file; dense ones borrow from the
// file. Those that a file has as [in, out] and the graph as [out, in] are turned with their layout, or
// dense with a warning where the layout does not hold them so; what was made of such a file has them
// so, too, unless save_weights() wrote it. The file may have
// a weight under one of its aliases; entries under several names have to be the same. Error (input)
// that lists everything that does not fit: weights that are missing, of another shape or not F32,
// and tensors that the graph does not have and no glob of `unused` matches. What is missing and
// matches a glob of `may_lack` is left out.
NamedValues<Tensor> load_weights(const Graph& g, const Checkpoint& file,
                                 const std::vector<std::string>& unused = {},
                                 const std::vector<std::string>& may_lack = {},
                                 LowWeights low = LowWeights::refused);

// The formats of a graph, as SparsityBuilder::to_json() has them, in the metadata of its weights.
inline constexpr const char* formats_key = "sten.sparsity";

// In the metadata of files that have the matrices of an ONNX model as its graph has them, [out, in].
inline constexpr const char* orientation_key = "sten.orientation";
// That metadata, for a graph that has such matrices.
Metadata orientation_of(const Graph& g);

// g with the formats that it had when the file was saved; g itself if the file has no formats.
// Error (input) if they do not fit the graph.
Graph load_sparsity(const Graph& g, const Checkpoint& file);

// Writes all of the graph's weights under their own names, in the graph's order, and the graph's
// formats if it has any, to one safetensors file, which appears whole or not at all. Error (usage)
// that lists weights that are missing or of another shape; Error (usage) if the file exists and
// `overwrite` is false. The metadata say so where matrices are turned against the graph's ONNX file.
// With `in_by_out` they are turned back instead, as the file has them that the graph is for, and
// have to be dense. `others`, which are none of the graph's weights, follow.
void save_weights(const Graph& g, const NamedValues<Tensor>& weights, const std::string& path,
                  bool overwrite = false, Metadata metadata = {{"format", "pt"}},
                  bool in_by_out = false, const NamedValues<Tensor>& others = {});

// Why the graph's weights cannot take the place of those in `model`, its ONNX file; "" where they can.
std::string why_not_onnx(const Graph& g, const Checkpoint& model);
// Writes `model`, byte for byte but for the graph's weights, all values of them: the model and its
// external data, beside it. All appear, or none. Error (usage) if one exists and `overwrite` is false.
void save_onnx(const Graph& g, const NamedValues<Tensor>& weights, const Checkpoint& model,
               const std::string& path, bool overwrite = false);

}  // namespace sten
