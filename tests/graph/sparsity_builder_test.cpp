// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/graph/sparsity_builder.h"

#include <doctest/doctest.h>

#include "libsten/model/graph/graph_json.h"
#include "tests/support/parts.h"
#include "tests/support/strict.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

// x [5, 8] -> up -> up.relu -> down [5, 3] -> loss.
Graph dense_graph() {
  return Graph({{"x"},
                {{"up.weight", {6, 8}, Spec::parse("normal:std=1")},
                 {"up.bias", {6}, Spec::parse("normal:std=1")},
                 {"down.weight", {6, 3}, Spec::parse("normal:std=1"), {"tied.weight"}}},
                {{"up", "linear", {"x", "up.weight", "up.bias"}},
                 {"up.relu", "relu", {"up"}},
                 {"down", "matmul", {"up.relu", "down.weight"}},
                 {"loss", "sum", {"down"}}},
                {"down", "loss"}});
}

NamedValues<Tensor> input_x() {
  Dice dice(9);
  return {{"x", normals(dice, {5, 8})}};
}

// Records the executed plans until the end of the scope.
struct Plans {
  std::vector<std::string> all;
  Plans() { Operators::log_plans(&all); }
  ~Plans() { Operators::log_plans(nullptr); }
};

std::string build_error(const SparsityBuilder& sb) {
  return error_of([&] { sb.sparse_graph(dense_graph()); });
}
const std::string misfit = "the sparsity does not fit the graph:";

}  // namespace

TEST_CASE("a sparse graph has the requested formats, and the original graph is unchanged") {
  const Graph g = dense_graph();
  const std::string before = to_json(g);
  SparsityBuilder sb;
  sb.set_weight("*.weight", sparsifier("magnitude:sparsity=0.75"), Spec("csr"))
      .set_interm("up.relu", OutFormat::fused(sparsifier("relu"), Spec("csr")))
      .set_weight_grad("re:up[.](weight|bias)", OutFormat::dense())
      .set_interm_grad("up.relu",
                       OutFormat::after(sparsifier("magnitude:sparsity=0.5"), Spec("masked")));
  const Graph sparse = sb.sparse_graph(g);
  CHECK(to_json(g) == before);
  for (const char* name : {"up.weight", "down.weight"}) {
    CHECK(sparse.find_weight(name)->format.initial.spec().str() == "magnitude:sparsity=0.75");
    CHECK(sparse.find_weight(name)->format.layout == Spec("csr"));
  }
  CHECK(sparse.find_weight("up.bias")->format.is_dense());
  CHECK(sparse.find_weight("up.bias")->format.grad.has_value());
  CHECK(sparse.find_weight("up.weight")->format.grad.has_value());
  CHECK_FALSE(sparse.find_weight("down.weight")->format.grad.has_value());
  CHECK(sparse.find_node("up.relu")->formats.out.str() == "relu -> csr -> keep-all -> csr");
  CHECK(sparse.find_node("up.relu")->formats.grad.str() ==
        "keep-all -> dense -> magnitude:sparsity=0.5 -> masked");
  CHECK(sparse.find_node("up")->formats.out.is_dense());
}

TEST_CASE("streaming, blocking and materializing sparsifiers select the values of sparse weights") {
  for (const char* spec : {"magnitude:sparsity=0.75", "random:fraction=0.75,seed=3", "nm:n=1,m=4",
                           "threshold:at=0.5"}) {
    CAPTURE(std::string(spec));
    const Graph g = SparsityBuilder()
                        .set_weight("up.weight", sparsifier(spec), Spec("csc"))
                        .sparse_graph(dense_graph());
    const NamedValues<Tensor> dense = initial_weights(g, 4), w = sparse_weights(g, dense);
    CHECK(w.at("up.weight").layout() == "csc");
    const Dense values = dense.at("up.weight").to_dense();
    CHECK(same_bits(w.at("up.weight").to_dense(),
                    masked_by(values, sparsifier(spec).select(values))));
    CHECK(w.at("down.weight").layout() == "dense");
    CHECK(w.size() == 3);
  }
}

TEST_CASE("sparse_weights() ranks by given scores; without them, an error names the weight") {
  const Graph g = SparsityBuilder()
                      .set_weight("up.weight", sparsifier("gradient:sparsity=0.5"), Spec("masked"))
                      .sparse_graph(dense_graph());
  const NamedValues<Tensor> w = initial_weights(g, 4);
  CHECK(error_of([&] { sparse_weights(g, w); }) ==
        "weight 'up.weight': gradient needs one score per element");
  Dense scores = Dense::zeros(DType::F32, {6, 8});
  for (Index i = 0; i < 24; ++i) scores.values.mutate<float>()[2 * i] = 1;
  const Mask kept = sparse_weights(g, w, {{"up.weight", scores}}).at("up.weight").stored();
  for (Index i = 0; i < 48; ++i) CHECK(kept[i] == (i % 2 == 0));
}

TEST_CASE("the output of a sparse graph is bit-identical to its operators with the same formats") {
  const Graph g = SparsityBuilder()
                      .set_weight("up.weight", sparsifier("magnitude:sparsity=0.5"), Spec("csr"))
                      .set_interm("up.relu", OutFormat::fused(sparsifier("relu"), Spec("csr")))
                      .sparse_graph(dense_graph());
  const NamedValues<Tensor> w = sparse_weights(g, initial_weights(g, 5));
  const Plans plans;
  const Strict strict;
  const Tensor got = g.run<Tensor>(w, input_x()).at("down");
  CHECK(plans.all.at(0) == "linear(dense, csr, dense) -> keep-all/dense: exact");
  CHECK(plans.all.at(1) == "relu(dense) -> relu/csr: exact");
  CHECK(plans.all.at(2) == "matmul(csr, dense) -> keep-all/dense: exact");
  const Tensor h = relu(linear(input_x().at("x"), w.at("up.weight"), w.at("up.bias")),
                        OutFormat::fused(sparsifier("relu"), Spec("csr")));
  CHECK(same_bits(got.to_dense(), matmul(h, w.at("down.weight")).to_dense()));
}

TEST_CASE("gradients of weights and intermediates have the requested formats") {
  const Graph g =
      SparsityBuilder()
          .set_weight("*.weight", sparsifier("magnitude:sparsity=0.5"), Spec("masked"))
          .set_weight_grad("down.weight", OutFormat::dense())
          .set_interm_grad("up.relu",
                           OutFormat::after(sparsifier("magnitude:sparsity=0.8"), Spec("dense")))
          .sparse_graph(dense_graph());
  const NamedValues<Tensor> w = sparse_weights(g, initial_weights(g, 5));
  Tape tape;
  const NamedValues<Var> vars = tape_weights(tape, g, w);
  tape.backward(g.run<Var>(vars, {{"x", Var(input_x().at("x"))}}).at("loss"));
  CHECK(vars.at("up.weight").grad()->layout() == "masked");
  CHECK(same_mask(vars.at("up.weight").grad()->stored(), w.at("up.weight").stored()));
  CHECK(vars.at("down.weight").grad()->layout() == "dense");
  CHECK(nonzero_mask(vars.at("down.weight").grad()->to_dense()).count() > 9);
  // 6 of 5 x 6 gradients are kept, and each is a term of the bias's gradient.
  CHECK(nonzero_mask(vars.at("up.bias").grad()->to_dense()).count() <= 6);
}

TEST_CASE("an operator without a sparse implementation warns once and is an error in strict mode") {
  GraphParts parts = dense_graph().parts();
  parts.nodes[1].op = "sigmoid";
  parts.nodes.insert(parts.nodes.begin() + 2, Node{"again", "sigmoid", {"up.relu"}});
  parts.nodes[3].inputs[0] = "again";
  const Graph g = SparsityBuilder()
                      .set_interm("up.relu", OutFormat::after(sparsifier("threshold:at=0.5"),
                                                              Spec::parse("bcsr:h=2,w=2")))
                      .sparse_graph(Graph(parts));
  const NamedValues<Tensor> w = initial_weights(g, 5);
  const std::string plan =
      "sigmoid(bcsr) -> keep-all/dense: no implementation for these layouts; dense with masks, "
      "sigmoid(dense) -> keep-all/dense";
  {
    const Warnings warnings;
    g.run<Tensor>(w, input_x());
    g.run<Tensor>(w, input_x());
    CHECK(std::ranges::count(warnings.all, plan) == 1);
  }
  const Strict strict;
  CHECK(error_of([&] { g.run<Tensor>(w, input_x()); }).starts_with("node 'again': strict: "));
}

TEST_CASE("one error lists all names without a match, with suggestions or their actual kind") {
  SparsityBuilder sb;
  const OutFormat csr = OutFormat::fused(sparsifier("relu"), Spec("csr"));
  sb.set_weight("up.wieght", sparsifier("magnitude:sparsity=0.5"), Spec("csr"));
  sb.set_weight("up", sparsifier("magnitude:sparsity=0.5"), Spec("csr"));
  sb.set_weight("tied.weight", sparsifier("magnitude:sparsity=0.5"), Spec("csr"));
  sb.set_weight("*.relu", sparsifier("magnitude:sparsity=0.5"), Spec("csr"));
  sb.set_interm("up.weight", csr);
  sb.set_interm("x", csr);
  sb.set_weight_grad("encoder.*", csr);
  sb.set_interm_grad("re:.*weight", csr);
  CHECK(build_error(sb) ==
        misfit +
            "\n  set_weight 'up.wieght' matches none of the 3 weights; the nearest: 'up.weight', "
            "'up.bias', 'down.weight'"
            "\n  set_weight 'up' is an intermediate value, which set_interm is for"
            "\n  set_weight 'tied.weight' is another name of weight 'down.weight'"
            "\n  set_weight '*.relu' matches no weights, but 'up.relu', which set_interm is for"
            "\n  set_interm 'up.weight' is a weight, which set_weight is for"
            "\n  set_interm 'x' is an input of the graph, not an intermediate value"
            "\n  set_weight_grad 'encoder.*' matches none of the 3 weights; the nearest: "
            "'up.weight', 'up.bias', 'down.weight'"
            "\n  set_interm_grad 're:.*weight' matches no intermediate values, but 'up.weight', "
            "'down.weight', which set_weight_grad is for");
}

TEST_CASE(
    "two patterns for one weight are an error, patterns for a weight and its gradient are not") {
  const auto half = sparsifier("magnitude:sparsity=0.5");
  SparsityBuilder sb;
  sb.set_weight("up.*", half, Spec("csr")).set_weight_grad("up.weight", OutFormat::dense());
  CHECK(build_error(sb).empty());
  sb.set_weight("*.weight", half, Spec("csr")).set_weight("up.bias", half, Spec("csr"));
  sb.set_weight("down.weight", half, Spec("csr"));
  CHECK(build_error(sb) ==
        misfit +
            "\n  set_weight 'up.*' and set_weight '*.weight' both mean 'up.weight'"
            "\n  set_weight 'up.*' and set_weight 'up.bias' both mean 'up.bias'"
            "\n  set_weight '*.weight' and set_weight 'down.weight' both mean "
            "'down.weight'");
}

TEST_CASE("invalid patterns and layouts are rejected by the setters") {
  SparsityBuilder sb;
  CHECK(has(error_of([&] { sb.set_weight("re:(", sparsifier("relu"), Spec("csr")); }), "'re:('"));
  CHECK(has(error_of([&] { sb.set_weight("a", sparsifier("relu"), Spec("crs")); }),
            "unknown layout 'crs'"));
  CHECK(
      has(error_of([&] { sb.set_interm("a", OutFormat::after(sparsifier("relu"), Spec("crs"))); }),
          "unknown layout 'crs'"));
  CHECK(sb.empty());
}

TEST_CASE("a sparsity builder survives a round trip through JSON and is recovered from its graph") {
  SparsityBuilder sb;
  sb.set_weight("*.weight", sparsifier("nmg:n=1,m=2,g=1"), Spec::parse("nmg:n=1,m=2,g=1"))
      .set_interm("up.relu", {sparsifier("relu"), Spec("csr"), sparsifier("magnitude:sparsity=0.5"),
                              Spec("csr")})
      .set_weight_grad("up.weight", OutFormat::dense())
      .set_interm_grad("up.relu", OutFormat::fused(sparsifier("threshold:at=0.1"), Spec("csc")));
  const std::string json = sb.to_json();
  CHECK(
      json ==
      R"({"weights":[{"name":"*.weight","initial":"nmg:n=1,m=2,g=1","layout":"nmg:n=1,m=2,g=1"}],)"
      R"("intermediates":[{"name":"up.relu","format":{"inline":"relu","temporary":"csr",)"
      R"("external":"magnitude:sparsity=0.5","layout":"csr"}}],)"
      R"("weight_gradients":[{"name":"up.weight","format":{}}],)"
      R"("intermediate_gradients":[{"name":"up.relu","format":{"inline":"threshold:at=0.1",)"
      R"("temporary":"csc","layout":"csc"}}]})");
  CHECK(SparsityBuilder::parse(json).to_json() == json);
  const Graph sparse = sb.sparse_graph(dense_graph());
  const SparsityBuilder found = SparsityBuilder::of(sparse);
  CHECK(to_json(found.sparse_graph(dense_graph())) == to_json(sparse));
  CHECK(SparsityBuilder::of(dense_graph()).empty());
  CHECK(SparsityBuilder::parse("{}").empty());
}

TEST_CASE("errors in the JSON of a sparsity builder name the location") {
  const auto error = [](const char* json) {
    return error_of([&] { SparsityBuilder::parse(json); });
  };
  CHECK(error("[]") == "sparsity: expected an object, got a list");
  CHECK(error(R"({"weight": []})") == "sparsity: /weight: unknown key, did you mean 'weights'?");
  CHECK(error(R"({"weights": [{"name": "re:("}]})").starts_with("sparsity: /weights/0/name: "));
  CHECK(error(R"({"weights": [{"initial": "relu"}]})") == "sparsity: /weights/0: missing 'name'");
  CHECK(error(R"({"weights": [{"name": "a", "layout": "crs"}]})")
            .starts_with("sparsity: /weights/0/layout: unknown layout 'crs'"));
  CHECK(error(R"({"intermediates": [{"name": "a"}]})") ==
        "sparsity: /intermediates/0: missing 'format'");
}
