// SPDX-License-Identifier: Apache-2.0
// Fuzz target: graphs of ONNX operators with arbitrary inputs and attributes. A graph that is
// imported also runs, on small inputs.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/model/nn/weights.h"
#include "libsten/model/onnx/import.h"
#include "libsten/model/onnx/translate.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/onnx_bytes.h"

namespace {

using namespace sten;
namespace pb = sten::testing::onnx;

constexpr std::int64_t numbers[] = {0,
                                    1,
                                    2,
                                    3,
                                    4,
                                    5,
                                    7,
                                    -1,
                                    -2,
                                    -3,
                                    12,
                                    16,
                                    100,
                                    1 << 20,
                                    -(1 << 20),
                                    INT32_MAX,
                                    INT64_MAX,
                                    INT64_MIN,
                                    std::int64_t{1} << 32,
                                    std::int64_t{1} << 62};
constexpr float floats[] = {0, 1, -1, 0.5F, 1e-5F, 2, 1e30F};
constexpr const char* names[] = {"axis",         "axes",        "to",
                                 "perm",         "keepdims",    "value",
                                 "value_int",    "alpha",       "beta",
                                 "transA",       "transB",      "start",
                                 "end",          "starts",      "ends",
                                 "split",        "shape",       "allowzero",
                                 "epsilon",      "mode",        "min",
                                 "max",          "pads",        "batch_dims",
                                 "upper",        "k",           "largest",
                                 "sorted",       "exclusive",   "reverse",
                                 "blocksize",    "equation",    "direction",
                                 "fmod",         "dtype",       "reduction",
                                 "ignore_index", "approximate", "noop_with_empty_axes",
                                 "num_outputs",  "stash_type"};
constexpr const char* words[] = {"",    "constant", "edge",      "tanh",    "LEFT",     "mean",
                                 "sum", "none",     "ij,jk->ik", "bij,bjk", "...ii->i", "DCR"};

std::string tensor_of(fuzz::Bytes& in, std::string_view name) {
  const int rank = static_cast<int>(in.below(4));
  std::string dims, elements;
  std::int64_t size = 1;
  for (int d = 0; d < rank; ++d) {
    const std::int64_t extent = in.below(4);
    dims += pb::number(1, extent);
    size *= extent;
  }
  const bool is_float = in.below(2) == 0;
  for (std::int64_t i = 0; i < size; ++i)
    elements += is_float ? pb::raw<float>({in.one_of(floats)})
                         : pb::varint(static_cast<std::uint64_t>(in.one_of(numbers)));
  return dims + pb::number(2, is_float ? 1 : 7) + pb::bytes(8, name) +
         pb::bytes(is_float ? 4 : 7, elements);
}

std::string attribute_of(fuzz::Bytes& in) {
  const std::string name = pb::bytes(1, in.one_of(names));
  switch (in.below(5)) {
    case 0:
      return pb::bytes(5, name + pb::number(3, in.one_of(numbers)) + pb::number(20, 2));
    case 1:
      return pb::bytes(
          5, name + pb::tag(2, 5) + pb::raw<float>({in.one_of(floats)}) + pb::number(20, 1));
    case 2:
      return pb::bytes(5, name + pb::bytes(4, in.one_of(words)) + pb::number(20, 3));
    case 3:
      return pb::bytes(5, name + pb::bytes(5, tensor_of(in, "")) + pb::number(20, 4));
    default: {
      std::string all;
      for (std::int64_t n = in.below(5); n > 0; --n) all += pb::number(8, in.one_of(numbers));
      return pb::bytes(5, name + all + pb::number(20, 7));
    }
  }
}

// One that the operator has, in its range mostly.
std::string attribute_of(fuzz::Bytes& in, const OnnxAttributeRule& rule) {
  const auto number = [&] {
    const std::int64_t v = in.one_of(numbers);
    return in.below(16) == 0 || v == 0 ? v : std::clamp(v, rule.least, rule.most);
  };
  const std::string name = pb::bytes(1, rule.name);
  switch (rule.type) {
    case OnnxAttributeType::integer:
      return pb::bytes(5, name + pb::number(3, number()) + pb::number(20, 2));
    case OnnxAttributeType::integers: {
      std::string all;
      for (std::int64_t n = in.below(5); n > 0; --n) all += pb::number(8, number());
      return pb::bytes(5, name + all + pb::number(20, 7));
    }
    case OnnxAttributeType::string: {
      const std::string_view all = rule.words;
      std::vector<std::string_view> choices{in.one_of(words)};
      for (std::size_t at = 0; at < all.size();) {
        const std::size_t end = std::min(all.find(' ', at), all.size());
        choices.push_back(all.substr(at, end - at));
        at = end + 1;
      }
      return pb::bytes(5, name + pb::bytes(4, in.one_of(choices)) + pb::number(20, 3));
    }
    default:
      return "";
  }
}

std::string port(fuzz::Bytes& in, int field, std::string_view name) {
  std::string dims;
  for (std::int64_t n = in.below(4); n > 0; --n) {
    const std::int64_t extent = in.below(8);
    dims += pb::bytes(1, extent == 7  ? ""
                         : extent > 4 ? pb::bytes(2, extent == 5 ? "N" : "M")
                                      : pb::number(1, extent));
  }
  constexpr int types[] = {1, 7, 9, 6, 11, 10, 0, 1};
  const std::string shape = in.below(8) == 0 ? "" : pb::bytes(2, dims);
  return pb::bytes(field, pb::bytes(1, name) +
                              pb::bytes(2, pb::bytes(1, pb::number(1, in.one_of(types)) + shape)));
}

const std::vector<std::string>& operators() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> v;
    for (const auto& [name, translate] : onnx_translators()) v.emplace_back(name);
    return v;
  }();
  return all;
}

std::string model_of(fuzz::Bytes& in) {
  std::vector<std::string> values{"x", "i", "w", "k"}, initializers, nodes;
  std::string ports = port(in, 11, "x") + port(in, 11, "i");
  initializers.push_back(tensor_of(in, "w"));
  initializers.push_back(tensor_of(in, "k"));
  while (!in.empty() && nodes.size() < 40) {
    std::string n;
    const std::string op = in.one_of(operators());
    // Mostly a valid number of inputs.
    const OnnxSchema& schema = *find_onnx_schema(op);
    const auto least = static_cast<std::int64_t>(schema.least_inputs);
    const auto more = static_cast<std::int64_t>(
        std::min<std::size_t>(schema.most_inputs - schema.least_inputs, 3));
    for (std::int64_t k = in.below(16) == 0 ? in.below(5) : least + in.below(more + 1); k > 0;
         --k) {
      const std::size_t which = in.byte();
      n += pb::bytes(1, which == 255 ? "" : values[values.size() - 1 - which % values.size()]);
    }
    const std::int64_t outputs = 1 + in.below(8) / 6;
    for (std::int64_t k = 0; k < outputs; ++k) {
      values.push_back("v" + std::to_string(values.size()));
      n += pb::bytes(2, values.back());
    }
    n += pb::bytes(4, op);
    for (const OnnxAttributeRule& rule : schema.attributes)
      if (rule.is_required || in.below(2) == 0) n += attribute_of(in, rule);
    if (in.below(16) == 0) n += attribute_of(in);
    nodes.push_back(n);
  }
  ports += pb::bytes(12, pb::bytes(1, values.back()));
  const std::string graph = pb::graph(nodes, initializers) + ports;
  constexpr int opsets[] = {7, 11, 13, 17, 18, 21};
  return pb::number(1, 8) + pb::bytes(7, graph) + pb::bytes(8, pb::number(2, in.one_of(opsets)));
}

constexpr Index most_elements = 4096;  // of a value

bool is_small(const Dense& x) { return x.size() <= most_elements; }

// A small input, with extent 2 for unknown extents; none if the port has no small one.
std::optional<Dense> small_input(const GraphPort& p) {
  Shape shape;
  for (const GraphPort::Extent& e : p.shape.value_or(std::vector<GraphPort::Extent>(2)))
    shape.push_back(e.size.value_or(2));
  const DType dtype = p.dtype.value_or(DType::F32);
  if (width_of(dtype) == 0 || checked_size(shape) > most_elements) return {};
  Dense x = Dense::zeros(dtype, shape);
  for (Index i = 0; i < x.size(); ++i) {
    if (dtype == DType::F32) x.values.mutate<float>()[i] = static_cast<float>(i % 5) - 1;
    if (dtype == DType::I64) x.values.mutate<std::int64_t>()[i] = i % 3;
  }
  return x;
}

// Whether an operator without shape inference has a small result.
bool has_small_result(std::string_view op, const std::vector<Tensor>& in) {
  Index product = 1;
  for (const Tensor& t : in) product *= std::min(most_elements, t.to_dense().size() + 1);
  if (op == "einsum") return in.size() < 4 && product <= most_elements;
  if (op != "one-hot" || in.size() < 2) return true;
  const Dense depth = in[1].to_dense();
  return depth.dtype() == DType::I64 && depth.size() == 1 &&
         depth.values.as<std::int64_t>()[0] <= 64;
}

// Runs the nodes in order while their results are small, and then the graph.
void run_small(const OnnxImport& model, const Checkpoint& file) {
  GraphBuilder builder;
  std::map<std::string, ValueRef, std::less<>> refs;
  NamedValues<Tensor> inputs;
  const auto put = [&](const std::string& name, const Dense& x) {
    refs[name] = builder.add_constant(x);
    return is_small(x);
  };
  for (const GraphPort& p : model.inputs) {
    const auto x = small_input(p);
    if (!x || !put(p.name, *x)) return;
    inputs.emplace(p.name, *x);
  }
  const NamedValues<Tensor> weights = load_weights(model.graph, file, model.not_weights);
  for (const auto& [name, w] : weights)
    if (!put(name, w.to_dense())) return;
  for (const Constant& c : model.graph.constants())
    if (!put(c.name, c.value)) return;
  for (const Node& n : model.graph.nodes()) {
    BuilderNode step{n.name, n.op, {}, n.attributes};
    std::vector<Tensor> in;
    for (const std::string& name : n.inputs) {
      step.in.push_back(refs.find(name)->second);
      in.emplace_back(*builder[step.in.back()].constant);
    }
    Shape shape;
    const BuilderValue v = infer(builder, step);
    const bool is_known = v.shape && all_known(*v.shape, shape);
    if (is_known ? checked_size(shape) > most_elements : !has_small_result(n.op.text(), in)) return;
    if (!put(n.name, apply(n.op, in, n.attributes).to_dense())) return;
  }
  (void)model.graph.run<Tensor>(weights, inputs);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes in(data, size);
  const std::string model = model_of(in);
  const int fd = memfd_create("model", MFD_CLOEXEC);
  if (fd < 0 || write(fd, model.data(), model.size()) != static_cast<ssize_t>(model.size()))
    fuzz::broken("no file in memory");
  fuzz::accepted([&] {
    const Checkpoint file = Checkpoint::of(MappedFile::adopt_fd(fd, "input"));
    run_small(import_onnx(file), file);
  });
  return 0;
}
