// A narrow network of each family of torchvision's classification models, exported by both exporters of PyTorch
// (make_models.py), compared with ONNX Runtime and PyTorch.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "libsten/core/base/random.h"
#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/files/tensors/npy.h"
#include "libsten/model/fusion/fused_graph.h"
#include "libsten/model/nn/weights.h"
#include "libsten/model/onnx/import.h"
#include "libsten/programs/prune/prune.h"
#include "libsten/training/trainer/trainer.h"
#include "tests/support/prune_options.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/sanitized.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Json = nlohmann::json;

const std::string folder = STEN_SOURCE_DIR "/tests/torchvision/";
const Index rows = 4;

const Json& reference() {
  static const Json all = [] {
    std::ifstream in(folder + "reference.json");
    return Json::parse(in);
  }();
  return all;
}

// Calls f(model, exporter, file).
void for_each_export(auto&& f) {
  for (const Json& model : reference().at("models")) {
    // Sanitized, a convolution over 224 pixels takes seconds.
    if (is_short() && model.at("size").get<Index>() > 100) continue;
    for (const auto& [exporter, outputs] : model.at("outputs").items()) {
      const std::string name = model.at("name").get<std::string>() + "-" + exporter;
      CAPTURE(name);
      CHECK_NOTHROW(f(model, exporter, folder + name + ".onnx"));
    }
  }
}

// [rows, 3, size, size], as images() of make_models.py.
Dense images(const Json& model) {
  const Index size = model.at("size").get<Index>(), n = rows * 3 * size * size;
  std::vector<float> values(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i)
    values[static_cast<std::size_t>(i)] =
        static_cast<float>(4 * random_uniform(reference().at("seed").get<std::uint64_t>(),
                                              static_cast<std::uint64_t>(i)) -
                           2);
  return f32({rows, 3, size, size}, values);
}

Dense labels() {
  Dense x = Dense::zeros(DType::I64, {rows});
  std::ranges::copy(std::vector<std::int64_t>{0, 1, 2, 3}, x.values.mutate<std::int64_t>().begin());
  return x;
}

std::string npy_file(const Dense& x) {
  return npy_header(x.dtype(), x.extents).append(as_text(x.values.bytes()));
}

// The largest difference, divided by the largest wanted value.
double difference(const Tensor& got, const Json& wanted) {
  const std::vector<float> x = floats(got.to_dense());
  const auto y = wanted.get<std::vector<double>>();
  REQUIRE(x.size() == y.size());
  double most = 0, largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = std::abs(double{x[i]} - y[i]);
    most = d <= most ? most : d;  // NaN counts
    largest = std::max(largest, std::abs(y[i]));
  }
  return most / largest;
}

struct Model {
  Checkpoint file;
  OnnxImport import;
  NamedValues<Tensor> weights;

  explicit Model(const std::string& path, OnnxMode mode = OnnxMode::exported)
      : file(Checkpoint::open(path)),
        import(import_onnx(file, {.mode = mode})),
        weights(load_weights(import.graph, file, import.not_weights)) {}
};

template <Operand T>
T loss_of(const Model& m, const NamedValues<T>& weights, const T& x) {
  const T y = m.import.graph.run<T>(weights, {{"x", x}}).at("y");
  return cross_entropy(y, T(Tensor(labels())));
}

double norm(const Tensor& gradient) {
  double square = 0;
  for (const float g : floats(gradient.to_dense())) square += double{g} * g;
  return std::sqrt(square);
}

}  // namespace

TEST_CASE("every family of torchvision has the outputs of ONNX Runtime") {
  for_each_export([](const Json& model, const std::string& exporter, const std::string& file) {
    const Model m(file);
    const Json& wanted = model.at("outputs").at(exporter);
    const NamedValues<Tensor> inputs{{"x", images(model)}};
    CHECK(difference(m.import.graph.run<Tensor>(m.weights, inputs).at("y"), wanted) < 1e-5);
    const Graph fused = fused_graph(m.import.graph, m.import.inputs);
    CHECK(difference(fused.run<Tensor>(m.weights, inputs).at("y"), wanted) < 1e-5);
  });
}

TEST_CASE("every family of torchvision has the gradients of PyTorch") {
  for_each_export([](const Json& model, const std::string& exporter, const std::string& file) {
    const Model m(file, OnnxMode::training);
    Tape tape;
    NamedValues<Var> vars;
    for (const auto& [name, w] : m.weights) vars.emplace(name, tape.parameter(w));
    const Var x = tape.parameter(images(model));
    const Var loss = loss_of(m, vars, x);
    CHECK(double{floats(loss.value().to_dense())[0]} ==
          doctest::Approx(model.at("loss").get<double>()).epsilon(1e-5));
    tape.backward(loss);
    vars.emplace("x", x);
    // Running statistics are fixed.
    const auto is_trained = [&](const std::string& name) {
      return vars.at(name).grad() && !name.ends_with("running_mean") &&
             !name.ends_with("running_var");
    };
    double square = 0;
    int compared = 0;
    for (const auto& [name, var] : vars) {
      if (!var.grad()) continue;
      CAPTURE(name);
      const double got = norm(*var.grad());
      if (name != "x" && is_trained(name)) square += got * got;
      // With dynamo, batch norms are folded into convolutions, which have other gradients.
      if (exporter == "dynamo" && name != "x") continue;
      if (!model.at("gradients").contains(name)) continue;
      const double wanted = model.at("gradients").at(name).get<double>();
      CHECK(got == doctest::Approx(wanted).epsilon(1e-4));
      ++compared;
    }
    CHECK(compared == (exporter == "dynamo" ? 1 : static_cast<int>(model.at("gradients").size())));

    const double length = std::sqrt(square), step = 5e-4 / length;
    const auto moved = [&](double by) {
      NamedValues<Tensor> all;
      for (const auto& [name, w] : m.weights) {
        all.emplace(name, is_trained(name) ? add(w, scale(*vars.at(name).grad(), by / length)) : w);
      }
      return double{floats(loss_of(m, all, Tensor(images(model))).to_dense())[0]};
    };
    CHECK((moved(step) - moved(-step)) / (2 * step) == doctest::Approx(length).epsilon(0.02));
  });
}

TEST_CASE("every family of torchvision trains with a mask, with the losses of PyTorch") {
  for_each_export([](const Json& model, const std::string& exporter, const std::string& file) {
    const TempDir dir;
    dir.write("x.npy", npy_file(images(model)));
    dir.write("labels.npy", npy_file(labels()));
    Json recipe = {{"schema", 1},
                   {"model", {{"kind", "onnx"}, {"file", file}}},
                   {"data",
                    {{"kind", "arrays"},
                     {"inputs", {{"x", "x.npy"}}},
                     {"labels", "labels.npy"},
                     {"train", 1},
                     {"validation", 0}}},
                   {"optimizer", {{"kind", "sgd"}, {"rate", model.at("rate")}, {"momentum", 0}}},
                   {"rate", {{"kind", "constant"}, {"warmup", 0}}},
                   {"steps", 5},
                   {"batch", rows},
                   {"sparsity", Json::array()}};
    std::vector<std::string> masked;
    if (exporter == "dynamo") {
      const Model m(file, OnnxMode::training);
      for (const Weight& w : m.import.graph.weights())
        if (w.shape.size() == 4) masked.push_back(w.name);
    } else {
      masked = model.at("masked").get<std::vector<std::string>>();
    }
    for (const std::string& name : masked)
      recipe["sparsity"].push_back({{"target", name}, {"sparsifier", "magnitude:sparsity=0.5"}});
    Trainer trainer(std::make_shared<const Task>(parse_recipe(recipe.dump(), dir / "recipe.json")));
    std::vector<double> losses;
    for (int i = 0; i < 5; ++i) losses.push_back(trainer.step().loss);
    if (exporter == "dynamo") {
      CHECK(losses.back() < losses.front());
    } else {
      for (std::size_t i = 0; i < losses.size(); ++i)
        CHECK(losses[i] == doctest::Approx(model.at("losses")[i].get<double>()).epsilon(1e-5));
    }
    const NamedValues<Tensor> weights = trainer.weights();
    for (const std::string& name : masked) {
      CAPTURE(name);
      const std::vector<float> values = floats(weights.at(name).to_dense());
      CHECK(std::ranges::count(values, 0.0f) == static_cast<Index>(values.size() + 1) / 2);
    }
  });
}

TEST_CASE("every family of torchvision, pruned, has the outputs of ONNX Runtime") {
  for_each_export([](const Json& model, const std::string& exporter, const std::string& file) {
    const TempDir dir;
    PruneOptions o = prune_options();
    o.input = file;
    o.output.path = dir / "pruned.onnx";
    o.tensors.sparsity = 0.5;
    prune(o);
    const Model m(o.output.path);
    const NamedValues<Tensor> inputs{{"x", images(model)}};
    CHECK(difference(m.import.graph.run<Tensor>(m.weights, inputs).at("y"),
                     model.at("pruned").at(exporter)) < 1e-5);
  });
}
