// SPDX-License-Identifier: Apache-2.0
// Operators that are newer than Debian's libonnx-testdata, on cases of onnx's backend tests that
// make_operators.py writes.
#include <doctest/doctest.h>

#include <filesystem>

#include "libsten/model/fusion/fused_graph.h"
#include "tests/support/onnx_bytes.h"
#include "tests/support/onnx_models.h"

using namespace sten;
using namespace sten::testing;
namespace pb = sten::testing::onnx;

namespace {

const std::string folder = STEN_SOURCE_DIR "/tests/onnx/operators/";

// The error of importing a node of inputs a, b, c, ... [2, 3, 8].
std::string refusal(std::string_view op, std::initializer_list<std::string_view> inputs,
                    const std::string& attributes) {
  const TempDir dir;
  constexpr int type = 1;  // F32
  std::vector<std::string> ports;
  for (const std::string_view name : inputs)
    if (!name.empty()) ports.push_back(pb::value(name, type, {"2", "3", "8"}));
  const std::string path =
      dir.write("m.onnx", pb::model(pb::graph({pb::node(op, "n", inputs, {"y"}, attributes)}, {}) +
                                    pb::inputs(ports) + pb::outputs({pb::value("y", type, {})})));
  const std::string why = error_of([&] { import_onnx(Checkpoint::open(path)); });
  const std::string prefix = path + ": node 'n' (" + std::string(op) + "): ";
  return why.starts_with(prefix) ? why.substr(prefix.size()) : why;
}

}  // namespace

TEST_CASE("operators of ONNX 23 to 25 match onnx's backend tests") {
  const Checkpoint cases = Checkpoint::open(folder + "cases.safetensors");
  int outputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    const std::string name = entry.path().stem();
    CAPTURE(name);
    const OnnxFile m(entry.path());
    const auto load = [&](const std::string& kind, const std::string& port) {
      const CheckpointTensor* t = cases.find(name + "." + kind + "." + port);
      REQUIRE(t);
      return cases.load(*t).to_dense();
    };
    NamedValues<Tensor> inputs;
    for (const GraphPort& p : m.import.inputs) inputs.emplace(p.name, load("in", p.name));
    const Graph fused = fused_graph(m.import.graph, m.import.inputs);
    for (const Graph* graph : {&m.import.graph, &fused})
      for (const auto& output : graph->run<Tensor>(m.weights, inputs)) {
        const std::string& port = output.first;
        const Tensor& y = output.second;
        CAPTURE(port);
        const Dense wanted = load("out", port);
        CHECK(y.shape() == wanted.extents);
        const std::vector<float> values = floats(wanted);
        CHECK(relative_difference(y, {values.begin(), values.end()}) < 1e-5);
        ++outputs;
      }
  }
  CHECK(outputs >= 50);
}

TEST_CASE("Attention and RMSNormalization are each imported as one operator") {
  const auto ops = [](const std::string& name) {
    const OnnxFile m(folder + name + ".onnx");
    std::vector<std::string> all;
    for (const Node& n : m.import.graph.nodes()) all.emplace_back(n.op.text());
    return all;
  };
  CHECK(ops("attention_3d") == std::vector<std::string>{"attention"});
  CHECK(ops("attention_3d_gqa_softcap") == std::vector<std::string>{"attention"});
  CHECK(ops("rms_normalization_default_axis") == std::vector<std::string>{"rms-norm"});
}

TEST_CASE("import rejects invalid and unsupported Attention and RotaryEmbedding nodes") {
  const auto heads = [](std::int64_t q, std::int64_t kv) {
    return pb::integer_attribute("q_num_heads", q) + pb::integer_attribute("kv_num_heads", kv);
  };
  const auto attention = [&](const std::string& attributes,
                             std::initializer_list<std::string_view> inputs) {
    return refusal("Attention", inputs, attributes);
  };
  CHECK(attention("", {"a", "b", "c"}) == "missing attribute q_num_heads, which 3 axes need");
  CHECK(attention(heads(2, 2), {"a", "b", "c", "", "", "", "d"}) ==
        "unsupported input nonpad_kv_seqlen");
  CHECK(attention(heads(2, 2), {"a", "b", "c", "", "d"}) == "missing input 5");
  CHECK(attention(heads(2, 2) + pb::integer_attribute("left_window_size", -2), {"a", "b", "c"}) ==
        "attribute left_window_size is -2: expected -1 to 2147483648");
  CHECK(refusal("RotaryEmbedding", {"a", "b", "c"}, pb::integer_attribute("num_heads", 8)) ==
        "expected an even number of rotated features up to 1, got 1");
}
