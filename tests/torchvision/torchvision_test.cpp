// SPDX-License-Identifier: Apache-2.0
// A narrow network of each family of torchvision's classification models, exported by both
// exporters of PyTorch (make_models.py), compared with ONNX Runtime and PyTorch.
#include <doctest/doctest.h>

#include <fstream>

#include "libsten/core/base/random.h"
#include "libsten/model/fusion/fused_graph.h"
#include "tests/support/onnx_models.h"
#include "tests/support/sanitized.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Json = nlohmann::json;
using Numbers = std::vector<double>;

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

template <Operand T>
T loss_of(const OnnxFile& m, const NamedValues<T>& weights, const T& x) {
  const T y = m.import.graph.run<T>(weights, {{"x", x}}).at("y");
  return cross_entropy(y, T(Tensor(class_labels({rows}, 10))));
}

}  // namespace

TEST_CASE("outputs of every torchvision family match ONNX Runtime") {
  for_each_export([](const Json& model, const std::string& exporter, const std::string& file) {
    const OnnxFile m(file);
    const auto wanted = model.at("outputs").at(exporter).get<Numbers>();
    const NamedValues<Tensor> inputs{{"x", images(model)}};
    CHECK(relative_difference(m.run(inputs), wanted) < 1e-5);
    const Graph fused = fused_graph(m.import.graph, m.import.inputs);
    CHECK(relative_difference(fused.run<Tensor>(m.weights, inputs).at("y"), wanted) < 1e-5);
  });
}

TEST_CASE("loss and gradient norms of every torchvision family match PyTorch") {
  for_each_export([](const Json& model, const std::string& exporter, const std::string& file) {
    const OnnxFile m(file, OnnxMode::training);
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
    for (const auto& entry : vars) {
      const std::string& name = entry.first;
      const Var& var = entry.second;
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

TEST_CASE("losses of every torchvision family in masked training match PyTorch") {
  for_each_export([](const Json& model, const std::string& exporter, const std::string& file) {
    const bool has_names = exporter != "dynamo";
    const auto masked = has_names ? model.at("masked").get<std::vector<std::string>>()
                                  : OnnxFile(file, OnnxMode::training).layers();
    const std::vector<double> losses =
        masked_losses(file, {{"x", images(model)}}, class_labels({rows}, 10), masked,
                      model.at("rate").get<double>());
    CHECK(losses.back() < losses.front());
    if (!has_names) return;
    const auto wanted = model.at("losses").get<Numbers>();
    for (std::size_t i = 0; i < losses.size(); ++i)
      CHECK(losses[i] == doctest::Approx(wanted[i]).epsilon(1e-5));
  });
}

TEST_CASE("outputs of every pruned torchvision family match ONNX Runtime") {
  for_each_export([](const Json& model, const std::string& exporter, const std::string& file) {
    const auto wanted = model.at("pruned").at(exporter).get<Numbers>();
    CHECK(relative_difference(run_pruned(file, {{"x", images(model)}}), wanted) < 1e-5);
  });
}
