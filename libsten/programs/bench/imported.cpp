// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/imported.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <tuple>

#include "libsten/core/base/log.h"
#include "libsten/core/base/memory_left.h"
#include "libsten/core/base/random.h"
#include "libsten/core/base/text.h"
#include "libsten/model/fusion/fused_graph.h"
#include "libsten/model/nn/weights.h"
#include "libsten/model/onnx/import.h"
#include "libsten/programs/bench/input.h"

namespace sten {
namespace {

constexpr Index usual_batch = 8, usual_tokens = 128;

// `word`: in lower case.
bool has_word(std::string text, const char* word) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text.find(word) != std::string::npos;
}

bool is_batch(const GraphPort::Extent& e) { return has_word(e.symbol, "batch"); }

// The symbolic extents of inputs that are batches and tokens, and whether there are any.
struct OpenExtents {
  bool any_is_called_batch;
  Index batch, window;
  bool has_batch = false, has_window = false;

  Shape filled(const GraphPort& p) {
    Shape shape;
    for (std::size_t d = 0; d < p.shape->size(); ++d) {
      const GraphPort::Extent& e = (*p.shape)[d];
      const bool of_batch = any_is_called_batch ? is_batch(e) : d == 0;
      if (!e.size) (of_batch ? has_batch : has_window) = true;
      shape.push_back(e.size.value_or(of_batch ? batch : window));
    }
    return shape;
  }
};

// The number of rows that the input indexes; the least one of several.
std::optional<Index> rows_by(const std::string& input, const Graph& g) {
  std::set<std::string, std::less<>> same{input};  // the input, reshaped or cast
  std::optional<Index> rows;
  for (const Node& n : g.nodes()) {
    const std::string_view op = n.op.text();
    if (op == "cast" || op == "reshape" || op == "unsqueeze" || op == "squeeze" || op == "expand")
      if (same.contains(n.inputs[0])) same.insert(n.name);
    if ((op != "embedding" && op != "gather") || !same.contains(n.inputs[1])) continue;
    const Shape* table = g.stored_shape(n.inputs[0]);
    if (!table || table->empty()) continue;
    Index axis = op == "gather" ? n.attributes.integer("axis", 0) : 0;
    if (axis < 0) axis += std::ssize(*table);
    if (axis < 0 || axis >= std::ssize(*table)) continue;
    rows = std::min(rows.value_or((*table)[axis]), (*table)[axis]);
  }
  return rows;
}

template <class T>
Dense made(DType dtype, Shape shape, auto&& number) {
  const Index n = checked_size(shape);
  Dense x{std::move(shape), Values::uninitialized(dtype, n)};
  T* to = x.values.mutate<T>().data();
  for (Index i = 0; i < n; ++i) to[i] = static_cast<T>(number(static_cast<std::uint64_t>(i)));
  return x;
}

Dense input_value(const GraphPort& p, const Shape& shape, const Graph& g, std::uint64_t seed,
                  std::string& what) {
  const DType dtype = p.dtype.value_or(DType::F32);
  const std::uint64_t own = seed_for(seed, p.name);
  const bool is_float = dtype == DType::F32 && !has_word(p.name, "mask");
  const auto rows = rows_by(p.name, g);
  what = is_float ? "normal" : rows ? fmt::format("below {}", *rows) : "ones";
  if (is_float) return bench_input("normal", shape, own);
  const auto number = [&](std::uint64_t i) {
    return rows ? std::floor(random_uniform(own, i) * static_cast<double>(*rows)) : 1.0;
  };
  switch (dtype) {
    case DType::F32:
      return made<float>(dtype, shape, number);
    case DType::I64:
      return made<std::int64_t>(dtype, shape, number);
    case DType::I32:
      return made<std::int32_t>(dtype, shape, number);
    case DType::BOOL:
      return made<std::uint8_t>(dtype, shape, [](std::uint64_t) { return 1; });
    default:
      fail("input {} is {}, which sten-bench cannot fill", quote(p.name), name_of(dtype));
  }
}

bool is_matrix(const Weight& w) {
  const auto is_one = [](Index n) { return n == 1; };
  return w.shape.size() >= 2 && std::all_of(w.shape.begin() + 2, w.shape.end(), is_one);
}

// The matrices of linear nodes and of ungrouped 1x1 convolutions, without weights that other nodes
// use.
std::vector<std::string> matrix_weights(const Graph& g) {
  const auto takes_matrix = [](const Node& n) {
    return n.op.text() == "linear" || ((n.op.text() == "conv" || n.op.text() == "conv-relu") &&
                                       n.attributes.integer("groups", 1) == 1);
  };
  std::set<std::string, std::less<>> others;
  for (const Node& n : g.nodes())
    for (std::size_t i = 0; i < n.inputs.size(); ++i)
      if (!takes_matrix(n) || i != 1) others.insert(n.inputs[i]);
  std::vector<std::string> all;
  for (const Node& n : g.nodes()) {
    if (!takes_matrix(n)) continue;
    const Weight* w = g.find_weight(n.inputs[1]);
    if (w && is_matrix(*w) && !others.contains(w->name) && !std::ranges::count(all, w->name))
      all.push_back(w->name);
  }
  return all;
}

}  // namespace

BenchGraph imported_graph(const BenchOptions& o, std::vector<std::string>& notes) {
  const Checkpoint file = Checkpoint::open(o.model);
  OnnxImport model = import_onnx(file, {.mode = OnnxMode::evaluation});
  model.graph = fused_graph(model.graph, model.inputs);
  const Index batch = o.batch.value_or(usual_batch), window = o.window.value_or(usual_tokens);
  double parameters = 0;
  for (const Weight& w : model.graph.weights())
    parameters += static_cast<double>(checked_size(w.shape));
  check_memory(4 * parameters, fmt::format("{}: {:.3g} parameters", file.name(), parameters));
  NamedValues<Tensor> values = load_weights(model.graph, file, model.not_weights);
  const bool any_batch = std::ranges::any_of(model.inputs, [](const GraphPort& p) {
    return p.shape && std::ranges::any_of(*p.shape, is_batch);
  });
  OpenExtents open{any_batch, batch, window};
  std::string text;
  for (const GraphPort& p : model.inputs) {
    if (!p.shape) fail("{}: input {} has no shape", file.name(), quote(p.name));
    std::string what;
    Dense x = input_value(p, open.filled(p), model.graph, o.seed, what);
    text += fmt::format("{}{} {} {} {}", text.empty() ? "" : ", ", printable(p.name),
                        name_of(x.dtype()), to_string(x.extents), what);
    values.emplace(p.name, std::move(x));
  }
  for (const auto& [flag, given, is_present] :
       {std::tuple("--batch", o.batch, open.has_batch), {"--window", o.window, open.has_window}})
    if (given && !is_present)
      warn("{} {} ignored: {} has no such symbolic extent", flag, *given, file.name());
  for (const Constant& c : model.graph.constants()) values.emplace(c.name, c.value);
  std::vector<std::string> sparse = matrix_weights(model.graph);
  if (sparse.empty()) fail("{}: no linear layer or 1x1 convolution found", file.name());
  notes.push_back("inputs: " + text);
  Shape shape;
  if (!model.inputs.empty()) {
    const GraphPort& first = model.inputs.front();
    shape = values.find(first.name)->second.shape();
    const bool is_image = shape.size() == 4 && first.dtype.value_or(DType::F32) == DType::F32;
    notes.push_back(fmt::format("shape: of the input {}{}", quote(first.name),
                                is_image ? ": images, channels, height and width" : ""));
  }
  return {
      std::move(model.graph), std::move(values), std::move(sparse), std::move(shape), "", o.model};
}

}  // namespace sten
