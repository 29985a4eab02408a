// Weights of a graph, from checkpoints and to them.
#pragma once
#include "libsten/graph/graph.h"
#include "libsten/io/checkpoint_output.h"

namespace sten {

// The file's entries of a weight: those with its name or one of its aliases. They live as long as
// the file.
std::vector<const CheckpointTensor*> weight_entries(const Weight& w, const Checkpoint& file);

// The graph's weights by their names, each in the layout that it has in the file; dense ones borrow
// from it. A weight may have the name of one of its aliases, and where it is there under several,
// all have to be the same. Error (input) that lists everything which does not fit: weights that are
// missing, of another shape, or not F32, and tensors that are none of the graph's and match no glob
// of `unused`.
NamedValues<Tensor> load_weights(const Graph& g, const Checkpoint& file,
                                 const std::vector<std::string>& unused = {});

// The formats of a graph, as SparsityBuilder::to_json() has them, in the metadata of its weights.
inline constexpr const char* formats_key = "sten.sparsity";

// g with the formats that it had when the file was saved; as it is where the file says nothing of
// them. Error (input) where they do not fit the graph.
Graph load_sparsity(const Graph& g, const Checkpoint& file);

// Writes all of the graph's weights under their own names, in the graph's order, as one
// safetensors file that comes into being whole or not at all; and beside them the graph's formats,
// where it has some. Error (usage) that lists weights which are missing or of another shape; Error
// (usage) where the file exists and `force` is false.
void save_weights(const Graph& g, const NamedValues<Tensor>& weights, const std::string& path,
                  bool force = false, Metadata metadata = {{"format", "pt"}});

}  // namespace sten
