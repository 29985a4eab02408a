// SPDX-License-Identifier: Apache-2.0
// Exported models: import, comparison with reference outputs, masked training and pruning.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/files/tensors/npy.h"
#include "libsten/model/nn/weights.h"
#include "libsten/model/onnx/import.h"
#include "libsten/programs/prune/prune.h"
#include "libsten/training/trainer/trainer.h"
#include "tests/support/prune_options.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

namespace sten::testing {

struct OnnxFile {
  Checkpoint file;
  OnnxImport import;
  NamedValues<Tensor> weights;

  explicit OnnxFile(const std::string& path, OnnxMode mode = OnnxMode::exported)
      : file(Checkpoint::open(path)),
        import(import_onnx(file, {.mode = mode})),
        weights(load_weights(import.graph, file, import.not_weights)) {}

  // The only output.
  Tensor run(const NamedValues<Tensor>& inputs) const {
    return import.graph.run<Tensor>(weights, inputs).begin()->second;
  }
  // The weights of convolutions and linear layers.
  std::vector<std::string> layers() const {
    std::set<std::string> all;
    for (const Node& n : import.graph.nodes())
      if ((n.op == Name("linear") || n.op == Name("conv")) && import.graph.find_weight(n.inputs[1]))
        all.insert(n.inputs[1]);
    return {all.begin(), all.end()};
  }
};

// The largest difference, divided by the largest wanted value; infinite for other sizes.
inline double relative_difference(const Tensor& got, const std::vector<double>& wanted) {
  const std::vector<float> x = floats(got.to_dense());
  if (x.size() != wanted.size()) return std::numeric_limits<double>::infinity();
  double most = 0, largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = std::abs(double{x[i]} - wanted[i]);
    most = d <= most ? most : d;  // NaN counts
    largest = std::max(largest, std::abs(wanted[i]));
  }
  return most / largest;
}

inline double norm(const Tensor& x) {
  double square = 0;
  for (const float v : floats(x.to_dense())) square += double{v} * v;
  return std::sqrt(square);
}

// I64: 0, 1, 2, ..., below `classes`.
inline Dense class_labels(const Shape& extents, Index classes) {
  Dense x = Dense::zeros(DType::I64, extents);
  std::int64_t next = 0;
  for (std::int64_t& v : x.values.mutate<std::int64_t>()) v = next++ % classes;
  return x;
}

inline std::string npy_file(const Dense& x) {
  return npy_header(x.dtype(), x.extents).append(as_text(x.values.bytes()));
}

// The losses of five steps of SGD on all rows of `inputs`, in which the smaller half of each of
// these weights is 0.
inline std::vector<double> masked_losses(const std::string& model,
                                         const NamedValues<Tensor>& inputs, const Dense& labels,
                                         const std::vector<std::string>& masked, double rate) {
  using Json = nlohmann::json;
  const TempDir dir;
  Json files = Json::object(), sparsity = Json::array();
  for (const auto& [name, x] : inputs) {
    dir.write(name + ".npy", npy_file(x.to_dense()));
    files[name] = name + ".npy";
  }
  dir.write("labels.npy", npy_file(labels));
  for (const std::string& name : masked)
    sparsity.push_back({{"target", name}, {"sparsifier", "magnitude:sparsity=0.5"}});
  const Json recipe = {{"schema", 1},
                       {"model", {{"kind", "onnx"}, {"file", model}}},
                       {"data",
                        {{"kind", "arrays"},
                         {"inputs", files},
                         {"labels", "labels.npy"},
                         {"train", 1},
                         {"validation", 0}}},
                       {"optimizer", {{"kind", "sgd"}, {"rate", rate}, {"momentum", 0}}},
                       {"rate", {{"kind", "constant"}, {"warmup", 0}}},
                       {"steps", 5},
                       {"batch", labels.extents.front()},
                       {"sparsity", sparsity}};
  Trainer trainer(std::make_shared<const Task>(parse_recipe(recipe.dump(), dir / "recipe.json")));
  std::vector<double> losses;
  while (!trainer.is_done()) losses.push_back(trainer.step().loss);
  const NamedValues<Tensor> weights = trainer.weights();
  for (const std::string& name : masked) {
    CAPTURE(name);
    const std::vector<float> values = floats(weights.at(name).to_dense());
    CHECK(std::ranges::count(values, 0.0f) == static_cast<Index>(values.size() + 1) / 2);
  }
  return losses;
}

// The output of a copy of the file that `sten-prune --sparsity 0.5` writes.
inline Tensor run_pruned(const std::string& file, const NamedValues<Tensor>& inputs) {
  const TempDir dir;
  PruneOptions o = prune_options();
  o.input = file;
  o.output.path = dir / "pruned.onnx";
  o.tensors.sparsity = 0.5;
  prune(o);
  return OnnxFile(o.output.path).run(inputs);
}

}  // namespace sten::testing
