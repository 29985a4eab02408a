// SPDX-License-Identifier: Apache-2.0
// Models that are inconsistent, unsupported, or request too much: one line says why they are
// refused.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "libsten/core/base/error.h"
#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/model/onnx/import.h"
#include "libsten/model/onnx/translate.h"
#include "tests/support/bad_input.h"
#include "tests/support/onnx_bytes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
namespace pb = sten::testing::onnx;

namespace {

// A ValueInfoProto: FLOAT [N, 4] as input (11) or output (12) of the graph.
std::string port(int field, std::string_view name) {
  const std::string n = pb::bytes(1, pb::bytes(2, "N")), four = pb::bytes(1, pb::number(1, 4));
  const std::string type = pb::bytes(1, pb::number(1, 1) + pb::bytes(2, n + four));
  return pb::bytes(field, pb::bytes(1, name) + pb::bytes(2, type));
}

// A model with the input x, the output y, and these nodes.
std::string hostile(const std::vector<std::string>& nodes,
                    const std::vector<std::string>& initializers = {}) {
  return pb::model(pb::graph(nodes, initializers) + port(11, "x") + port(12, "y"));
}

// The error without the file name; "" if the model is accepted. Every message is one line of
// printable text.
std::string why_not(const std::string& model) {
  const TempDir dir;
  const std::string path = dir.write("m.onnx", model);
  const Checkpoint file = Checkpoint::open(path);
  const std::string why = error_of([&] { (void)import_onnx(file); });
  if (why.empty()) return why;
  CHECK(why.starts_with(path + ": "));
  for (const char c : why) CHECK(static_cast<unsigned char>(c) >= ' ');
  return why.substr(path.size() + 2);
}

std::string integers(std::string_view name, std::initializer_list<std::int64_t> values) {
  return pb::tensor(name, 7, {static_cast<std::int64_t>(values.size())},
                    pb::bytes(7, pb::packed(values)));
}
std::string scalar(std::string_view name, std::int64_t value) {
  return pb::tensor(name, 7, {}, pb::bytes(7, pb::packed({value})));
}

}  // namespace

TEST_CASE("import: rejects nodes in a cycle or not in topological order") {
  const std::string order = " is an output of a later node: expected topological order";
  CHECK(why_not(hostile({pb::node("Relu", "b", {"a"}, {"y"}),
                         pb::node("Relu", "a", {"x"}, {"a"})})) == "node 'b': input 'a'" + order);
  CHECK(why_not(hostile({pb::node("Relu", "r", {"y"}, {"y"})})) == "node 'r': input 'y'" + order);
  const std::string circle =
      hostile({pb::node("Add", "", {"x", "b"}, {"a"}), pb::node("Relu", "", {"a"}, {"b"}),
               pb::node("Relu", "", {"b"}, {"y"})});
  REQUIRE(held(105, why_not(circle) == "node 'a': input 'b'" + order));
}

TEST_CASE("import: rejects missing and duplicate values, wrong input counts and data types") {
  REQUIRE(held(
      106,
      why_not(hostile({pb::node("Add", "sum", {"x", "z"}, {"y"})})) ==
          "node 'sum': unknown input 'z' (expected an input of the graph or an output of a node)"));
  CHECK(why_not(hostile({pb::node("Relu", "", {"x"}, {"z"})})) ==
        "output 'y' not found: expected the output of a node");
  CHECK(why_not(hostile({pb::node("Relu", "", {"x"}, {"y"}), pb::node("Abs", "", {"x"}, {"y"})})) ==
        "duplicate output 'y'");
  CHECK(why_not(hostile({pb::node("Relu", "", {"y"}, {"x"})})) ==
        "'x' is both an input and the output of a node");
  CHECK(has(why_not(hostile({pb::node("Add", "sum", {"x"}, {"y"})})), "node 'sum' (Add): "));
  CHECK(has(why_not(hostile({pb::node("Relu", "r", {}, {"y"})})), "node 'r' (Relu): "));
  const std::string half = pb::tensor("w", 8, {1}, pb::bytes(6, "text"));
  CHECK(why_not(hostile({pb::node("Add", "sum", {"x", "w"}, {"y"})}, {half})) ==
        "node 'sum': unsupported data type of input 'w'");
}

TEST_CASE("import: rejects unsupported operators, all in one error, and unsupported attributes") {
  const std::string graph =
      pb::bytes(5, pb::bytes(1, "body") + pb::bytes(6, pb::graph({}, {})) + pb::number(20, 5));
  const std::string why = why_not(hostile(
      {pb::node("If", "", {"x"}, {"a"}, graph), pb::node("Loop", "", {"a", "a"}, {"b"}, graph),
       pb::node("Scan", "", {"b"}, {"c"}, graph), pb::node("Relu", "", {"c"}, {"d"}),
       pb::node("GridSample", "", {"d", "x"}, {"e"}), pb::node("GridSample", "", {"e", "x"}, {"f"}),
       pb::node("Relu", "", {"f"}, {"y"}, pb::bytes(7, "com.example"))}));
  REQUIRE(held(107, why == "unsupported operators GridSample (2 times), If, Loop, Scan, "
                           "com.example:Relu"));
  CHECK(
      has(why_not(hostile({pb::node("Relu", "r", {"x"}, {"y"}, pb::integer_attribute("fast", 1))})),
          "node 'r' (Relu): unsupported attribute 'fast'"));
}

TEST_CASE("import: every operator has a schema and checks its number of inputs") {
  for (const auto& entry : onnx_translators()) {
    const std::string op(entry.first);
    CAPTURE(op);
    const OnnxSchema* schema = find_onnx_schema(op);
    REQUIRE(schema);
    if (schema->least_inputs == 0) continue;
    const std::string why = why_not(hostile({pb::node(op, "n", {}, {"y"})}));
    CHECK(has(why, "node 'n' (" + op + "): expected " + std::to_string(schema->least_inputs)));
    CHECK(has(why, ", got 0"));
  }
  CHECK(why_not(hostile({pb::node("Where", "n", {"x", "", "x"}, {"y"})})) ==
        "node 'n' (Where): missing input 1");
  CHECK(why_not(hostile({pb::node("Relu", "n", {"x", "x"}, {"y"})})) ==
        "node 'n' (Relu): expected 1 input, got 2");
}

TEST_CASE("import: rejects attributes that are out of range, missing or of the wrong type") {
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
  const auto why = [](std::string_view op, const std::string& attributes) {
    return why_not(hostile({pb::node(op, "n", {"x"}, {"y"}, attributes)}));
  };
  for (const std::int64_t b : {std::int64_t{0}, std::int64_t{1} << 32, far})
    CHECK(why("DepthToSpace", pb::integer_attribute("blocksize", b)) ==
          "node 'n' (DepthToSpace): attribute blocksize is " + std::to_string(b) +
              ": expected 1 to 2147483648");
  CHECK(why("DepthToSpace", "") == "node 'n' (DepthToSpace): missing attribute blocksize");
  CHECK(has(why("MaxPool", pb::integers_attribute("kernel_shape", {1, far})),
            "attribute kernel_shape has 9223372036854775807: expected 1 to 2147483648"));
  CHECK(has(why("Softmax", pb::integers_attribute("axis", {1})),
            "attribute axis has the type INTS: expected INT"));
  CHECK(has(why("Softmax", pb::integer_attribute("axis", 1) + pb::integer_attribute("axis", 1)),
            "duplicate attribute axis"));
  CHECK(has(why("Gelu", pb::bytes(5, pb::bytes(1, "approximate") + pb::bytes(4, "exp") +
                                         pb::number(20, 3))),
            "unsupported attribute approximate of 'exp': expected one of none, tanh"));
  CHECK(has(why("LRN", pb::integer_attribute("size", 1) +
                           pb::bytes(5, pb::bytes(1, "alpha") + pb::tag(2, 5) +
                                            pb::raw<float>({INFINITY}) + pb::number(20, 1))),
            "attribute alpha is inf"));
}

TEST_CASE("import: integers near the 64-bit limits are computed or rejected") {
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::string> lists{integers("begin", {1}),       integers("end", {far}),
                                       integers("axis", {0}),        integers("step", {far}),
                                       integers("back", {-far - 1}), integers("sizes", {far, far}),
                                       integers("ids", {1, far})};
  for (const std::string_view step : {"step", "back"})  // of the extents N and 4
    CHECK(why_not(hostile({pb::node("Shape", "", {"x"}, {"s"}),
                           pb::node("Slice", "", {"s", "begin", "end", "axis", step}, {"a"}),
                           pb::node("Cast", "", {"a"}, {"y"}, pb::integer_attribute("to", 1))},
                          lists)) == "");
  CHECK(has(why_not(hostile({pb::node("Split", "n", {"x", "sizes"}, {"y", "z"})}, lists)),
            "computed shape exceeds 64 bits"));
  CHECK(has(
      why_not(hostile({pb::node("Tile", "n", {"x", "back"}, {"y"})}, {integers("back", {1, -2})})),
      "result has the extent -8"));
}

TEST_CASE("import: control characters of names are escaped in errors") {
  const std::string_view esc = "a\x1b[2J\n";
  CHECK(has(why_not(hostile({pb::node("Relu", esc, {"q"}, {"y"})})), "'a\\x1b[2J\\n'"));
  CHECK(has(why_not(hostile({pb::node("Relu", "", {esc}, {"y"})})), "'a\\x1b[2J\\n'"));
  CHECK(has(why_not(hostile({pb::node(esc, "", {"x"}, {"y"})})), "a\\x1b[2J\\n"));
  CHECK(has(why_not(hostile({pb::node("Relu", "", {"x"}, {"y"}, pb::bytes(7, esc))})),
            "a\\x1b[2J\\n:Relu"));
  CHECK(has(why_not(hostile({pb::node("Relu", "", {"x"}, {"y"}, pb::integer_attribute(esc, 1))})),
            "'a\\x1b[2J\\n'"));
  const std::string output = pb::model(pb::graph({}, {}) + port(11, "x") + port(12, esc));
  REQUIRE(held(108, has(why_not(output), "'a\\x1b[2J\\n'")));
}

TEST_CASE("import: terabytes of computed constants in a small file do not crash the import") {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  const std::string add = pb::node("Add", "", {"x", "c"}, {"y"});
  const std::string one = pb::tensor("one", 1, {}, pb::bytes(9, pb::raw<float>({1})));
  // The import does not allocate this memory, whether the model is refused at import or at run
  // time.
  (void)why_not(
      hostile({pb::node("ConstantOfShape", "", {"s"}, {"c"}), add}, {integers("s", {huge})}));
  (void)why_not(hostile({pb::node("Range", "", {"0", "n", "1"}, {"i"}),
                         pb::node("Cast", "", {"i"}, {"c"}, pb::integer_attribute("to", 1)), add},
                        {scalar("0", 0), scalar("n", huge), scalar("1", 1)}));
  (void)why_not(
      hostile({pb::node("Expand", "", {"one", "s"}, {"c"}), add}, {one, integers("s", {huge, 4})}));
  (void)why_not(hostile({pb::node("Tile", "", {"row", "s"}, {"c"}), add},
                        {pb::tensor("row", 1, {4}, pb::bytes(9, pb::raw<float>({1, 2, 3, 4}))),
                         integers("s", {huge})}));
  // 4 * 2^60 elements by doubling.
  std::vector<std::string> nodes{pb::node("ConstantOfShape", "", {"s"}, {"c0"})};
  std::vector<std::string> names{"c0"};
  for (int i = 0; i < 60; ++i) {
    names.push_back("c" + std::to_string(i + 1));
    nodes.push_back(pb::node("Concat", "", {names[i], names[i]}, {names[i + 1]},
                             pb::integer_attribute("axis", 0)));
  }
  nodes.push_back(pb::node("Add", "", {"x", names.back()}, {"y"}));
  (void)why_not(hostile(nodes, {integers("s", {4})}));
  REQUIRE(held(109, true));
}

TEST_CASE("import: only constants in use are computed, within a budget for the file size") {
  const std::string shape = integers("s", {1 << 22}), square = integers("q", {2048, 2048});
  std::vector<std::string> nodes;
  const auto fill = [&](int count) {
    for (int i = 0; i < count; ++i)
      nodes.push_back(pb::node("ConstantOfShape", "", {"s"}, {"c" + std::to_string(i)}));
  };
  fill(100);
  nodes.push_back(pb::node("Loop", "", {"c0"}, {"z"}));
  nodes.push_back(pb::node("Relu", "", {"x"}, {"y"}));
  CHECK(why_not(hostile(nodes, {shape})) == "");
  nodes.clear();
  fill(20);
  for (int i = 0; i < 20; ++i)
    nodes.push_back(pb::node("Add", "",
                             {i ? "a" + std::to_string(i - 1) : "x", "c" + std::to_string(i)},
                             {i < 19 ? "a" + std::to_string(i) : "y"}));
  CHECK(has(why_not(hostile(nodes, {shape})),
            "(ConstantOfShape): computed constants of the graph exceed the limit for a file of "
            "this size, 134 MB"));
  nodes = {pb::node("ConstantOfShape", "", {"q"}, {"m0"})};
  for (int i = 0; i < 40; ++i)
    nodes.push_back(pb::node("MatMul", "", {"m" + std::to_string(i), "m" + std::to_string(i)},
                             {"m" + std::to_string(i + 1)}));
  nodes.push_back(pb::node("Add", "", {"x", "m40"}, {"y"}));
  CHECK(has(why_not(hostile(nodes, {square})),
            "(MatMul): computed constants of the graph exceed the limit for a file of this size, "
            "4.3 billion"));
  // The shape of x, whose first extent is known only at run time.
  for (const int doublings : {16, 26}) {
    nodes = {pb::node("Shape", "", {"x"}, {"d0"})};
    for (int i = 0; i < doublings; ++i)
      nodes.push_back(pb::node("Concat", "", {"d" + std::to_string(i), "d" + std::to_string(i)},
                               {"d" + std::to_string(i + 1)}, pb::integer_attribute("axis", 0)));
    nodes.push_back(pb::node("Cast", "", {"d" + std::to_string(doublings)}, {"y"},
                             pb::integer_attribute("to", 1)));
    CHECK(why_not(hostile(nodes)).empty() == (doublings == 16));
  }
}

TEST_CASE("import: accepts twenty thousand outputs of the same name") {
  std::string outputs;
  for (int i = 0; i < 20'000; ++i) outputs += port(12, "y");
  CHECK(why_not(pb::model(pb::graph({pb::node("Relu", "", {"x"}, {"y"})}, {}) + port(11, "x") +
                          outputs)) == "");
}

TEST_CASE("import: accepts a chain of a hundred thousand nodes") {
  std::vector<std::string> nodes;
  std::string last = "x";
  for (int i = 0; i < 100'000; ++i) {
    const std::string next = i + 1 == 100'000 ? "y" : std::to_string(i);
    nodes.push_back(pb::node("Relu", "", {last}, {next}));
    last = next;
  }
  REQUIRE(held(110, why_not(hostile(nodes)).empty()));
}
