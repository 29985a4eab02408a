// SPDX-License-Identifier: Apache-2.0
// Training an ONNX model: equal to the same model from a config, with data by input names, and
// saved.
#include "libsten/training/task/imported.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "libsten/core/tensor/access.h"
#include "libsten/files/checkpoint/named_tensors.h"
#include "libsten/model/graph/sparsity_builder.h"
#include "libsten/model/nn/weights.h"
#include "tests/support/npy_files.h"
#include "tests/support/onnx_bytes.h"
#include "tests/support/warnings.h"
#include "tests/trainer/small_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Written by make_bert_onnx.py: the BERT of small_bert() with other weights.
const std::string exported = STEN_SOURCE_DIR "/tests/trainer/bert.onnx";

Recipe of_file(Recipe r, const std::string& file) {
  r.model = {};
  r.model.kind = "onnx";
  r.model.file = file;
  return r;
}

void check_alike(const Recipe& a, const Recipe& b, double within) {
  const auto x = trainer_of(a), y = trainer_of(b);
  while (!x->is_done()) {
    const TrainStep s = x->step(), t = y->step();
    CAPTURE(s.step);
    CHECK(std::abs(s.loss - t.loss) < within);
    CHECK(s.predictions == t.predictions);
    CHECK(x->sparsity() == doctest::Approx(y->sparsity()));
  }
  const Measured m = x->task().measure(x->weights(), DataSplit::validation);
  const Measured n = y->task().measure(y->weights(), DataSplit::validation);
  CHECK(std::abs(m.loss - n.loss) < within);
  CHECK(m.count == n.count);
}

std::string raw_of(const Dense& x) {
  const auto v = x.values.as<float>();
  std::string bytes(v.size_bytes(), '\0');
  std::memcpy(bytes.data(), v.data(), bytes.size());
  return bytes;
}

// An input or an output of F32 or I64: extents below 0 are open.
std::string port(int field, std::string_view name, std::initializer_list<std::int64_t> shape,
                 int type = 1) {
  std::string dims;
  for (const std::int64_t e : shape)
    dims += onnx::bytes(1, e < 0 ? onnx::bytes(2, "batch") : onnx::number(1, e));
  const std::string tensor = onnx::number(1, type) + onnx::bytes(2, dims);
  return onnx::bytes(field, onnx::bytes(1, name) + onnx::bytes(2, onnx::bytes(1, tensor)));
}

// small_mlp() with these weights as ONNX, where matrices are [in, out].
std::string mlp_file(const NamedValues<Tensor>& w, std::int64_t batch = -1) {
  std::vector<std::string> nodes, tensors;
  std::string x = "x";
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i), weight = "layers." + n + ".weight",
                      bias = "layers." + n + ".bias", y = i == 2 ? "y" : "hidden" + n;
    const Dense transposed = apply("transpose", {w.at(weight)}).as<Dense>();
    const Dense b = w.at(bias).as<Dense>();
    tensors.push_back(onnx::tensor(weight, 1, {transposed.extents[0], transposed.extents[1]},
                                   onnx::bytes(9, raw_of(transposed))));
    tensors.push_back(onnx::tensor(bias, 1, {b.extents[0]}, onnx::bytes(9, raw_of(b))));
    nodes.push_back(onnx::node("MatMul", "product" + n, {x, weight}, {"product" + n}));
    nodes.push_back(onnx::node("Add", "sum" + n, {"product" + n, bias}, {i == 2 ? y : "sum" + n}));
    if (i < 2) nodes.push_back(onnx::node("Relu", y, {"sum" + n}, {y}));
    x = y;
  }
  return onnx::model(onnx::graph(nodes, tensors) + port(11, "x", {batch, 16}) +
                     port(12, "y", {batch, 4}));
}

struct Perceptron {
  TempDir dir;
  Recipe own = small_mlp(dir), imported;
  Graph graph = trainer_of(own)->task().graph();
  NamedValues<Tensor> first = initial_weights(graph, 3);

  Perceptron() {
    own.model.weights = dir / "first.safetensors";
    save_weights(graph, first, own.model.weights);
    imported = of_file(own, dir.write("mlp.onnx", mlp_file(first)));
  }
};

std::string refused(const Recipe& r) {
  return error_of([&] { const Task task(r); });
}

// An array of int64, as .npy.
std::string integers_file(const std::string& shape, const std::vector<std::int64_t>& v) {
  std::string data(v.size() * sizeof(std::int64_t), '\0');
  std::memcpy(data.data(), v.data(), data.size());
  return npy(dict("'<i8'", "False", shape), data);
}

}  // namespace

TEST_CASE("a BERT exported by PyTorch has the losses of the same BERT built from its config") {
  const TempDir dir;
  Recipe r = small_bert(dir);
  r.model.weights = exported;
  r.steps = 12;
  r.optimizer.rate = 0.002;  // AdamW amplifies the noise of gradients that are 0
  check_alike(r, of_file(r, exported), 1e-5);
  r.accumulate = 2;
  r.clip = 0.5;
  r.sparsity = {sparse("bert.encoder.*.weight", "magnitude:sparsity=0.5")};
  r.sparsity[0].mask = {"refresh", 3};
  check_alike(r, of_file(r, exported), 1e-5);
}

TEST_CASE("an MLP in ONNX has the losses of the same MLP built from its sizes") {
  Perceptron p;
  check_alike(p.own, p.imported, 1e-6);
  p.own.sparsity = p.imported.sparsity = {sparse("layers.[01].weight", "nm:n=2,m=4")};
  check_alike(p.own, p.imported, 1e-6);
}

TEST_CASE("trained weights round-trip through ONNX and safetensors files") {
  const Perceptron p;
  const auto trainer = trainer_of(p.imported);
  while (!trainer->is_done()) trainer->step();
  const NamedValues<Tensor> trained = trainer->weights();
  const Graph& g = trainer->task().graph();
  const Checkpoint& model = *trainer->task().onnx();
  CHECK(why_not_onnx(g, model).empty());
  save_onnx(g, trained, model, p.dir / "trained.onnx");
  CHECK(p.dir.read("trained.onnx") == mlp_file(trained));
  save_weights(g, trained, p.dir / "trained.safetensors");
  const auto same = [&](const std::string& file) {
    CAPTURE(file);
    const NamedValues<Tensor> back = load_weights(g, Checkpoint::open(file));
    for (const auto& w : trained)
      CHECK(same_bits(back.at(w.first).to_dense(), w.second.to_dense()));
  };
  same(p.dir / "trained.onnx");
  same(p.dir / "trained.safetensors");
  // A file of another program keeps the orientation of its matrices; one of them is square.
  GraphParts transposed = g.parts();
  NamedValues<Tensor> values = trained;
  for (Weight& w : transposed.weights) {
    w.in_by_out = false;
    if (w.shape.size() != 2) continue;
    std::ranges::reverse(w.shape);
    values.at(w.name) = apply("transpose", {values.at(w.name)});
  }
  transposed.nodes.clear();
  transposed.outputs.clear();
  save_weights(Graph(transposed), values, p.dir / "converted.safetensors");
  same(p.dir / "converted.safetensors");
}

TEST_CASE("arrays feed the ONNX inputs of their names, and arrays that do not fit are rejected") {
  const TempDir dir;
  Recipe r = of_file(small_bert(dir), exported);
  std::vector<std::int64_t> ids, labels, ones(24 * 6, 1), zeros(24 * 6, 0);
  Dice dice(5);
  for (int i = 0; i < 24 * 6; ++i) {
    ids.push_back(dice.below(11));
    labels.push_back(i % 3 ? -100 : ids.back());
  }
  const std::string shape = "(24, 6)";
  r.data.kind = "arrays";
  r.data.labels = dir.write("labels.npy", integers_file(shape, labels));
  r.data.inputs = {{"input_ids", dir.write("ids.npy", integers_file(shape, ids))},
                   {"attention_mask", dir.write("mask.npy", integers_file(shape, ones))},
                   {"token_type_ids", dir.write("types.npy", integers_file(shape, zeros))}};
  const auto trainer = trainer_of(r);
  // 8 rows of 6 tokens, a third of which count.
  const TrainStep first = trainer->step();
  CHECK(first.predictions == 16);
  CHECK(std::abs(first.loss - std::log(11)) < 1);
  while (!trainer->is_done()) trainer->step();
  CHECK(trainer->task().measure(trainer->weights(), DataSplit::train).loss < first.loss);
  // All inputs in one file, by name.
  Recipe one = r;
  const auto tensor = [](const std::vector<std::int64_t>& x) { return tensor_of({24, 6}, x); };
  save_tensors(dir / "all.safetensors", {{"input_ids", tensor(ids)},
                                         {"attention_mask", tensor(ones)},
                                         {"token_type_ids", tensor(zeros)}});
  for (auto& input : one.data.inputs) input.second = dir / "all.safetensors";
  CHECK(trainer_of(one)->step().loss == first.loss);
  save_tensors(dir / "two.safetensors", {{"input_ids", tensor(ids)}, {"mask", tensor(ones)}});
  one.data.inputs["attention_mask"] = dir / "two.safetensors";
  CHECK(has(refused(one),
            "two.safetensors: unknown tensor 'attention_mask' (expected one of "
            "input_ids, mask)"));

  const auto with = [&](const char* input, const std::string& file) {
    Recipe other = r;
    if (file.empty())
      other.data.inputs.erase(input);
    else
      other.data.inputs[input] = file;
    return refused(other);
  };
  CHECK(has(with("token_type_ids", ""), "input 'token_type_ids' has no data (see data.inputs)"));
  CHECK(has(with("token_types", r.data.labels), "data.inputs: unknown input 'token_types' of"));
  CHECK(has(with("input_ids", dir.write("few.npy", integers_file("(12, 12)", ids))),
            "few.npy: shape [12, 12] does not fit the 24 labels"));
  CHECK(has(
      with("input_ids", dir.write("flat.npy", integers_file("(24, 6, 1)", ids))),
      "flat.npy: shape [24, 6, 1] does not fit input 'input_ids' of the model, [batch, tokens]"));
  Recipe other = r;
  labels[3] = 11;
  other.data.labels = dir.write("more.npy", integers_file(shape, labels));
  CHECK(has(refused(other),
            "more.npy: label 11 is out of range: the model's output 'logits' has 11 classes"));
  other = r;
  other.data.labels =
      dir.write("one.npy", integers_file("(24,)", {zeros.begin(), zeros.begin() + 24}));
  CHECK(has(refused(other),
            "one.npy: labels of shape [24] do not fit output 'logits' of the model, [batch, "
            "tokens, 11]"));
  other.data.labels =
      dir.write("none.npy", integers_file(shape, std::vector<std::int64_t>(labels.size(), -100)));
  CHECK(has(refused(other), "none.npy: all labels are -100, which the loss ignores"));
}

TEST_CASE("a recipe that does not fit its ONNX model is rejected") {
  Perceptron p;
  Recipe r = p.imported;
  r.model.output = "logits";
  CHECK(has(refused(r), "model.output: unknown output 'logits' of"));
  r = p.imported;
  r.data.input = "z";
  CHECK(has(refused(r), "data.input: unknown input 'z' of"));
  r = p.imported;
  r.model.batch_norm = "train";
  CHECK(has(refused(r), "mlp.onnx: model.batch_norm train: the model has no batch norms"));
  r = p.imported;
  r.model.file = p.dir.write("fixed.onnx", mlp_file(p.first, 4));
  CHECK(has(refused(r),
            "fixed.onnx: input 'x' has the fixed batch size 4 (export with dynamic_axes"));
  Recipe text = of_file(small_bert(p.dir), p.imported.model.file);
  CHECK(has(refused(text), "unsupported input 'x' for masked-text"));
  text = of_file(text, exported);
  text.data.vocabulary = p.dir.write("large.json", R"({"[PAD]": 0, "[MASK]": 1, "a": 40})");
  CHECK(has(refused(text), "large.json: ids up to 40 are out of range: "));
}

TEST_CASE("a transposed copy of a weight in an ONNX model causes a warning") {
  const TempDir dir;
  const std::string first = onnx::bytes(9, onnx::raw<float>({1, 2, 3, 4, 5, 6}));
  const auto file = [&](const std::string& second) {
    return onnx::model(onnx::graph({onnx::node("MatMul", "a", {"x", "copy"}, {"a"}),
                                    onnx::node("Gemm", "b", {"x", "shared"}, {"b"},
                                               onnx::integer_attribute("transB", 1)),
                                    onnx::node("Add", "y", {"a", "b"}, {"y"})},
                                   {onnx::tensor("copy", 1, {2, 3}, first),
                                    onnx::tensor("shared", 1, {3, 2}, onnx::bytes(9, second))}) +
                       port(11, "x", {-1, 2}) + port(12, "y", {-1, 3}));
  };
  ModelRecipe m;
  m.kind = "onnx";
  const Warnings warned;
  m.file = dir.write("other.onnx", file(onnx::raw<float>({1, 4, 2, 5, 3, 7})));
  read_imported(m);
  CHECK(warned.all.empty());
  m.file = dir.write("copy.onnx", file(onnx::raw<float>({1, 4, 2, 5, 3, 6})));
  read_imported(m);
  REQUIRE(warned.all.size() == 1);
  CHECK(has(warned.all[0],
            "copy.onnx: 'copy' is a copy of 'shared', and both are trained separately"));
}

TEST_CASE("SparsityBuilder sparsifies weights and intermediates of an ONNX model by name") {
  const Perceptron p;
  const Checkpoint file = Checkpoint::open(p.imported.model.file);
  const OnnxImport model = import_onnx(file);
  SparsityBuilder sb;
  sb.set_weight("layers.*.weight", registry().sparsifier(Spec::parse("magnitude:sparsity=0.5")),
                Spec("csr"))
      .set_interm("hidden0", OutFormat::fused(registry().sparsifier(Spec("relu")), Spec("csr")));
  const Graph g = sb.sparse_graph(model.graph);
  const NamedValues<Tensor> w = sparse_weights(g, load_weights(g, file, model.not_weights));
  for (const Weight& one : g.weights())
    CHECK(w.at(one.name).layout_name() == Name(one.shape.size() == 2 ? "csr" : "dense"));
  CHECK(w.at("layers.1.weight").stored().count() == 32 * 32 / 2);
  Dice dice(8);
  const NamedValues<Tensor> x{{"x", normals(dice, {5, 16})}};
  NamedValues<Tensor> dense = w;
  for (auto& one : dense) one.second = one.second.to_dense();
  const Tensor got = g.run<Tensor>(w, x).at("y"),
               wanted = model.graph.run<Tensor>(dense, x).at("y");
  const std::vector<float> a = floats(got.to_dense()), b = floats(wanted.to_dense());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-5));
}
