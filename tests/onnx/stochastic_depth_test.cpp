// SPDX-License-Identifier: Apache-2.0
// Stochastic depth of models that were exported in training mode.
#include <doctest/doctest.h>

#include <functional>

#include "libsten/model/nn/weights.h"
#include "libsten/model/onnx/import.h"
#include "tests/support/onnx_bytes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
namespace pb = sten::testing::onnx;

namespace {

constexpr int float_type = 1;
constexpr Index rows = 1000;

std::string number(std::string_view name, float v) {
  return pb::tensor(name, float_type, {}, pb::bytes(9, pb::raw({v})));
}

// y from x [batch, 3] by these nodes, with p = 0.25, and `row` [batch, 1] beside x.
std::string model(const std::vector<std::string>& nodes, std::string_view input = "x") {
  std::vector<std::string> all{
      pb::node("ReduceMax", "row", {input}, {"row"},
               pb::integers_attribute("axes", {1}) + pb::integer_attribute("keepdims", 1))};
  all.insert(all.end(), nodes.begin(), nodes.end());
  return pb::graph(all, {number("p", 0.25F)}) +
         pb::inputs({pb::value(input, float_type, {"batch", "3"})}) +
         pb::outputs({pb::value("y", float_type, {"batch", "3"})});
}

const std::string random_rows = pb::node("RandomUniformLike", "random", {"row"}, {"r"});
// As torchvision and timm write it.
const std::vector<std::string> compared{
    random_rows, pb::node("Less", "less", {"r", "p"}, {"is"}),
    pb::node("Cast", "cast", {"is"}, {"one"}, pb::integer_attribute("to", float_type)),
    pb::node("Div", "div", {"one", "p"}, {"mask"}), pb::node("Mul", "mul", {"x", "mask"}, {"y"})};
// As transformers writes it.
const std::vector<std::string> floored{pb::node("Div", "div", {"x", "p"}, {"scaled"}), random_rows,
                                       pb::node("Add", "add", {"p", "r"}, {"sum"}),
                                       pb::node("Floor", "floor", {"sum"}, {"mask"}),
                                       pb::node("Mul", "mul", {"scaled", "mask"}, {"y"})};
const std::vector<std::string> drawn{
    pb::node("Shape", "shape", {"row"}, {"s"}), pb::node("Expand", "expand", {"p", "s"}, {"ps"}),
    pb::node("Bernoulli", "bernoulli", {"ps"}, {"one"}),
    pb::node("Div", "div", {"one", "p"}, {"mask"}), pb::node("Mul", "mul", {"mask", "x"}, {"y"})};

OnnxImport imported(const std::string& graph, OnnxMode mode) {
  const TempDir dir;
  return import_onnx(Checkpoint::open(dir.write("model.onnx", pb::model(graph))), {.mode = mode});
}

Dense seed(std::int64_t v) {
  Dense x = Dense::zeros(DType::I64, {});
  x.values.mutate<std::int64_t>()[0] = v;
  return x;
}

}  // namespace

TEST_CASE("stochastic depth keeps examples with the probability of the file, in training only") {
  Dice dice(1);
  const Dense x = normals(dice, {rows, 3});
  for (const auto& nodes : {compared, floored, drawn}) {
    const OnnxImport evaluated = imported(model(nodes), OnnxMode::evaluation);
    CHECK(same_bits(evaluated.graph.run<Tensor>({}, {{"x", x}}).at("y").to_dense(), x));
    const OnnxImport trained = imported(model(nodes), OnnxMode::training);
    std::vector<Index> kept;
    for (const std::int64_t step : {0, 0, 1}) {
      const Dense y =
          trained.graph.run<Tensor>({}, {{"x", x}, {"draw", seed(step)}}).at("y").to_dense();
      const std::vector<float> in = floats(x), out = floats(y);
      kept.push_back(0);
      for (std::size_t i = 0; i < out.size(); i += 3) {
        const bool is_kept = out[i] != 0;
        kept.back() += is_kept;
        for (std::size_t k = i; k < i + 3; ++k)
          CHECK(out[k] == doctest::Approx(is_kept ? 4 * in[k] : 0));
      }
      CHECK(std::abs(static_cast<double>(kept.back()) / rows - 0.25) < 0.05);
    }
    CHECK(kept[0] == kept[1]);
    CHECK(kept[0] != kept[2]);  // other masks in the next step
  }
}

TEST_CASE("import rejects random numbers outside stochastic depth and a model input named draw") {
  const auto error = [](const std::string& graph, OnnxMode mode) {
    return error_of([&] { imported(graph, mode); });
  };
  for (const OnnxMode mode : {OnnxMode::training, OnnxMode::evaluation}) {
    CHECK(has(error(model({random_rows, pb::node("Add", "add", {"x", "r"}, {"y"})}), mode),
              "random numbers 'r': only stochastic depth may use them"));
    std::vector<std::string> unscaled = compared;
    unscaled[3] = pb::node("Identity", "same", {"one"}, {"mask"});
    CHECK(has(error(model(unscaled), mode), "only stochastic depth may use them"));
  }
  CHECK(has(error(model(compared), OnnxMode::exported), "random numbers are unsupported"));
  std::vector<std::string> renamed = compared;
  renamed.back() = pb::node("Mul", "mul", {"draw", "mask"}, {"y"});
  CHECK(has(error(model(renamed, "draw"), OnnxMode::training),
            "the model has an input 'draw': dropouts are trained with an input of this name"));
}
