// SPDX-License-Identifier: Apache-2.0
// Content of ONNX files, and damaged protobuf.
#include "libsten/files/onnx/model.h"

#include <doctest/doctest.h>

#include "libsten/core/base/error.h"
#include "libsten/files/onnx/wire.h"
#include "tests/support/onnx_bytes.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using namespace std::string_literals;
namespace pb = sten::testing::onnx;

namespace {

OnnxModel read(const std::string& file) { return read_onnx_model(as_bytes(file), "m.onnx"); }

std::string onnx_error(const std::string& file) {
  return error_of([&] { (void)read(file); });
}

}  // namespace

TEST_CASE("onnx: reads every part of a model") {
  const std::string dims =
      pb::bytes(1, pb::bytes(2, "batch")) + pb::bytes(1, pb::number(1, 3)) + pb::bytes(1, "");
  const std::string type = pb::bytes(1, pb::number(1, 1) + pb::bytes(2, dims));
  const std::string inner = pb::graph({pb::node("Relu", "inner", {"a"}, {"b"})}, {});
  const std::string attributes =
      pb::integer_attribute("axis", -1) +
      pb::bytes(
          5, pb::bytes(1, "alpha") + pb::tag(2, 5) + pb::raw<float>({0.5F}) + pb::number(20, 1)) +
      pb::bytes(5, pb::bytes(1, "mode") + pb::bytes(4, "nearest") + pb::number(20, 3)) +
      pb::bytes(5, pb::bytes(1, "ints") + pb::number(8, 1) + pb::bytes(8, pb::packed({2, -3})) +
                       pb::number(20, 7)) +
      pb::bytes(5, pb::bytes(1, "floats") + pb::tag(7, 5) + pb::raw<float>({1}) +
                       pb::bytes(7, pb::raw<float>({2, 3})) + pb::number(20, 6)) +
      pb::bytes(
          5, pb::bytes(1, "strings") + pb::bytes(9, "x") + pb::bytes(9, "y") + pb::number(20, 8)) +
      pb::bytes(5, pb::bytes(1, "then") + pb::bytes(6, inner) + pb::number(20, 5)) +
      pb::tensor_attribute("value", pb::tensor("", 7, {2}, pb::bytes(7, pb::packed({5, -6}))));
  const std::string graph =
      pb::graph(
          {pb::node("Op", "n", {"x", "", "w"}, {"y"}, pb::bytes(7, "com.example") + attributes)},
          {pb::tensor("w", 1, {1, 2}, pb::bytes(9, pb::raw<float>({1, 2})))}) +
      pb::bytes(11, pb::bytes(1, "x") + pb::bytes(2, type)) +
      pb::bytes(12, pb::bytes(1, "y") + pb::bytes(2, pb::bytes(1, pb::number(1, 10)))) +
      pb::bytes(13, pb::bytes(1, "s") + pb::bytes(2, pb::bytes(4, pb::bytes(1, type)))) +
      pb::bytes(999, "of a version to come");
  const std::string file =
      pb::model(graph) + pb::bytes(8, pb::bytes(1, "com.example") + pb::number(2, 3));
  const OnnxModel m = read(file);
  CHECK(m.ir_version == 8);
  CHECK(m.producer == "sten");
  REQUIRE(m.opsets.size() == 2);
  CHECK(m.opsets[0].version == 17);
  CHECK(m.opsets[1].domain == "com.example");
  CHECK(m.graph.name == "graph");
  REQUIRE(m.graph.nodes.size() == 1);
  const OnnxNode& n = m.graph.nodes[0];
  CHECK(n.name == "n");
  CHECK(n.op_type == "Op");
  CHECK(n.domain == "com.example");
  CHECK(n.inputs == std::vector<std::string_view>{"x", "", "w"});
  CHECK(n.outputs == std::vector<std::string_view>{"y"});
  CHECK(n.find("none") == nullptr);
  CHECK(n.find("axis")->integer == -1);
  CHECK(n.find("axis")->type == OnnxAttributeType::integer);
  CHECK(n.find("alpha")->number == 0.5F);
  CHECK(n.find("mode")->string == "nearest");
  CHECK(n.find("ints")->integers == std::vector<std::int64_t>{1, 2, -3});
  CHECK(n.find("floats")->numbers == std::vector<float>{1, 2, 3});
  CHECK(n.find("strings")->strings == std::vector<std::string_view>{"x", "y"});
  REQUIRE(n.find("value")->tensors.size() == 1);
  CHECK(n.find("value")->tensors[0].store == OnnxStore::int64_data);
  REQUIRE(n.find("then")->graphs.size() == 1);
  const WireFile whole{as_bytes(file), "m.onnx"};
  CHECK(read_onnx_graph(n.find("then")->graphs[0], whole).nodes.at(0).name == "inner");
  REQUIRE(m.graph.initializers.size() == 1);
  const OnnxTensor& w = m.graph.initializers[0];
  CHECK(w.name == "w");
  CHECK(w.dims == Shape{1, 2});
  CHECK(w.data_type == 1);
  CHECK(w.store == OnnxStore::raw_data);
  CHECK(as_text(w.pieces.at(0)) == pb::raw<float>({1, 2}));
  CHECK(w.pieces[0].data() >= whole.bytes.data());  // borrowed
  CHECK(w.pieces[0].data() < whole.bytes.data() + file.size());
  const OnnxValue& x = m.graph.inputs.at(0);
  CHECK(x.kind == OnnxKind::tensor);
  CHECK(x.elem_type == 1);
  REQUIRE(x.shape);
  REQUIRE(x.shape->size() == 3);
  CHECK((*x.shape)[0].symbol == "batch");
  CHECK(!(*x.shape)[0].size);
  CHECK((*x.shape)[1].size == 3);
  CHECK((!(*x.shape)[2].size && (*x.shape)[2].symbol.empty()));
  CHECK(!m.graph.outputs.at(0).shape);
  CHECK(m.graph.outputs[0].elem_type == 10);
  CHECK(m.graph.values.at(0).kind == OnnxKind::sequence);
}

TEST_CASE("onnx: reads references to external data and rejects invalid or duplicate storage") {
  const auto one = [](const std::string& elements) {
    return read(pb::model(pb::graph({}, {pb::tensor("w", 1, {4}, elements)})))
        .graph.initializers.at(0);
  };
  const OnnxTensor t = one(pb::external("w.bin", "4096", "16"));
  CHECK(t.store == OnnxStore::external);
  CHECK(t.external.offset == 4096);
  CHECK(t.external.length == 16);
  CHECK(!one(pb::external("w.bin")).external.length);
  const auto refused = [&](const std::string& elements) {
    return error_of([&] { one(elements); });
  };
  CHECK(refused(pb::external("w.bin", "-1")).ends_with("external data has the offset '-1'"));
  CHECK(refused(pb::external("w.bin", "0", "1e3")).ends_with("external data has the length '1e3'"));
  CHECK(refused(pb::external("w.bin", "99999999999999999999")).find("has the offset") !=
        std::string::npos);
  CHECK(refused(pb::external("w.bin") + pb::bytes(9, "abcd")).ends_with("stored in two ways"));
  CHECK(refused(pb::bytes(4, "abcd") + pb::bytes(9, "abcd")).ends_with("stored in two ways"));
  CHECK(refused(pb::bytes(9, "abcd") + pb::bytes(9, "abcd")).ends_with("has raw_data twice"));
  CHECK(refused(pb::bytes(3, "")).ends_with("one of several segments"));
}

TEST_CASE("onnx: damaged protobuf fails with a one-line error") {
  const std::string good = pb::model(pb::graph({pb::node("MatMul", "n", {"x", "w"}, {"y"})},
                                               {pb::tensor("w", 1, {1}, pb::bytes(9, "abcd"))}));
  CHECK(onnx_error(good).empty());
  // Every truncated file is refused, unless only fields after the graph are lost.
  const std::size_t graph_end = good.size() - pb::bytes(8, pb::number(2, 17)).size();
  for (std::size_t n = 0; n < good.size(); ++n) {
    CAPTURE(n);
    const std::string why = onnx_error(good.substr(0, n));
    CHECK((why.starts_with("m.onnx: ") || n == graph_end));
    CHECK(why.find('\n') == std::string::npos);
  }
  const auto says = [](const std::string& file, const std::string& what) {
    const std::string why = onnx_error(file);
    CAPTURE(why);
    CHECK(why == "m.onnx: " + what);
  };
  says("", "not an ONNX model: missing ir_version");
  says(pb::number(1, 8), "the ONNX model has no graph (is the file truncated?)");
  says(pb::bytes(7, ""), "not an ONNX model: missing ir_version");
  says(pb::number(1, 8) + pb::bytes(7, "") + pb::bytes(7, ""), "byte 4: a second graph");
  says("\x08", "byte 0: the number in field 1 is cut off or too long");
  says("\x08"s + std::string(9, '\xff') + "\x02",
       "byte 0: the number in field 1 is cut off or too long");
  CHECK(onnx_error("\x08"s + std::string(9, '\xff') + "\x01" + pb::bytes(7, "")).empty());
  says("\x80", "byte 0: a field's number is cut off or too long");
  says("\x07", "byte 0: invalid field number 0");
  says(pb::varint(std::uint64_t{1} << 32), "byte 0: invalid field number 536870912");
  says("\x0b", "byte 0: field 1 is a group, which ONNX does not have");
  says("\x0c", "byte 0: field 1 is a group, which ONNX does not have");
  says("\x0e", "byte 0: field 1 has wire type 6");
  says("\x0a\x01x", "byte 0: field 1 has wire type 2, not 0");
  says("\x38\x01", "byte 0: field 7 has wire type 0, not 2");
  says("\x3a\x05xyz", "byte 0: field 7 has 5 bytes, 3 are left");
  says("\x3a"s + pb::varint(~std::uint64_t{0}) + "x",
       "byte 0: field 7 has 18446744073709551615 bytes, 1 are left");
  says("\x39\x01", "byte 0: field 7 has 8 bytes, 1 are left");
  const auto in_node = [](const std::string& attribute) {
    return pb::model(pb::graph({pb::bytes(5, attribute)}, {}));
  };
  CHECK(onnx_error(in_node(pb::number(20, 15))).ends_with("unknown type 15 of an attribute"));
  CHECK(onnx_error(in_node(pb::bytes(8, "\x80"))).ends_with("field 8 ends within a number"));
  CHECK(onnx_error(in_node(pb::bytes(7, "abc"))).ends_with("field 7 ends within a number"));
  CHECK(onnx_error(in_node(pb::bytes(2, "abcd"))).ends_with("field 2 has wire type 2, not 5"));
}

TEST_CASE("onnx: reads a graph of a million nodes") {
  const std::string node = pb::bytes(1, pb::node("Add", "a", {"x", "y"}, {"z"}));
  std::string graph;
  constexpr int count = 1'000'000;
  graph.reserve(node.size() * count);
  for (int i = 0; i < count; ++i) graph += node;
  const std::string file = pb::model(graph);
  CHECK(read(file).graph.nodes.size() == count);
}
