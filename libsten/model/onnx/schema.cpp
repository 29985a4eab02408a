// SPDX-License-Identifier: Apache-2.0
// ONNX's operator schemas, https://onnx.ai/onnx/operators/, of the operators that sten has.
#include "libsten/model/onnx/schema.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "libsten/compute/ops/elementwise/binary.h"
#include "libsten/compute/ops/elementwise/comparison.h"
#include "libsten/compute/ops/elementwise/unary_rows.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/tensors/safetensors.h"

namespace sten {
namespace {
namespace onnx_schemas {  // for short names

using Rule = OnnxAttributeRule;
using Type = OnnxAttributeType;

constexpr std::size_t any_count = std::numeric_limits<std::size_t>::max();
constexpr Index axis_limit = max_rank;
// So that products of two do not overflow.
constexpr Index extent_limit = Index{1} << 31;
constexpr float float_limit = std::numeric_limits<float>::max();

constexpr Rule integer_rule(std::string_view name, Index least, Index most) {
  return {.name = name, .type = Type::integer, .least = least, .most = most};
}
constexpr Rule list_rule(std::string_view name, Index least, Index most) {
  return {.name = name, .type = Type::integers, .least = least, .most = most};
}
constexpr Rule float_rule(std::string_view name, float lowest = -float_limit,
                          float highest = float_limit) {
  return {.name = name, .type = Type::number, .lowest = lowest, .highest = highest};
}
constexpr Rule word_rule(std::string_view name, std::string_view words) {
  return {.name = name, .type = Type::string, .words = words};
}
constexpr Rule typed_rule(std::string_view name, Type type) { return {.name = name, .type = type}; }
constexpr Rule flag(std::string_view name) { return integer_rule(name, 0, 1); }
constexpr Rule required(Rule r) {
  r.is_required = true;
  return r;
}
constexpr Rule ignored(Rule r) {
  r.is_ignored = true;
  return r;
}

constexpr Rule axis = integer_rule("axis", -axis_limit, axis_limit);
constexpr Rule axes = list_rule("axes", -axis_limit, axis_limit);
constexpr Rule keepdims = flag("keepdims"), noop = flag("noop_with_empty_axes");
constexpr Rule consumed = ignored(typed_rule("consumed_inputs", Type::integers));
constexpr Rule stash = ignored(typed_rule("stash_type", Type::integer));
constexpr Rule saturate = ignored(flag("saturate"));
constexpr Rule epsilon = float_rule("epsilon", 0);
constexpr Rule auto_pad = word_rule("auto_pad", "NOTSET VALID SAME_UPPER SAME_LOWER");
constexpr Rule kernel = list_rule("kernel_shape", 1, extent_limit);
constexpr Rule strides = list_rule("strides", 1, extent_limit);
constexpr Rule dilations = list_rule("dilations", 1, extent_limit);
constexpr Rule pads = list_rule("pads", 0, extent_limit);
constexpr Rule ceil_mode = flag("ceil_mode");
constexpr Rule group = integer_rule("group", 1, extent_limit);
constexpr Rule blocksize = required(integer_rule("blocksize", 1, extent_limit));
constexpr Rule power = integer_rule("p", 1, extent_limit), power_1 = float_rule("p", 0);
constexpr Rule loss = word_rule("reduction", "none sum mean");
constexpr Rule ignore_index = typed_rule("ignore_index", Type::integer);
constexpr Rule upsample_mode = word_rule("mode", "nearest linear bilinear");
constexpr Rule resize_mode = word_rule("mode", "nearest linear bilinear cubic");

const std::vector<OnnxSchema>& schemas() {
  static const std::vector<OnnxSchema> all{
      // Elementwise operators except those of schemas_of_rows().
      {"BitShift", 2, 2, {required(word_rule("direction", "LEFT RIGHT"))}},
      {"Cast", 1, 1, {required(integer_rule("to", 0, 1000)), saturate}},
      {"CastLike", 2, 2, {saturate}},
      {"Clip", 1, 3, {typed_rule("min", Type::number), typed_rule("max", Type::number), consumed}},
      {"Dropout",
       1,
       3,
       {ignored(typed_rule("ratio", Type::number)), ignored(typed_rule("seed", Type::integer)),
        ignored(flag("is_test")), consumed}},
      {"Gelu", 1, 1, {word_rule("approximate", "none tanh")}},
      {"Identity", 1, 1},
      {"IsInf", 1, 1, {flag("detect_negative"), flag("detect_positive")}},
      {"IsNaN", 1, 1},
      {"Mean", 1, any_count, {consumed}},
      {"Mod", 2, 2, {flag("fmod")}},
      {"Not", 1, 1},
      {"Where", 3, 3},
      // Random numbers.
      {"Bernoulli",
       1,
       1,
       {integer_rule("dtype", 0, 1000), ignored(typed_rule("seed", Type::number))}},
      {"RandomUniformLike",
       1,
       1,
       {integer_rule("dtype", 0, 1000), float_rule("low"), float_rule("high"),
        ignored(typed_rule("seed", Type::number))}},
      // Movement of elements.
      {"Compress", 2, 2, {axis}},
      {"Concat", 1, any_count, {axis}},
      {"DepthToSpace", 1, 1, {blocksize, word_rule("mode", "DCR CRD")}},
      {"Expand", 2, 2},
      {"Flatten", 1, 1, {axis}},
      {"Gather", 2, 2, {axis}},
      {"GatherElements", 2, 2, {axis}},
      {"GatherND", 2, 2, {integer_rule("batch_dims", 0, axis_limit)}},
      {"Pad",
       1,
       4,
       {word_rule("mode", "constant reflect edge wrap"), typed_rule("value", Type::number),
        list_rule("pads", -extent_limit, extent_limit),
        list_rule("paddings", -extent_limit, extent_limit)}},
      {"Reshape",
       1,
       2,
       {list_rule("shape", -1, std::numeric_limits<Index>::max()), flag("allowzero"), consumed}},
      {"ReverseSequence",
       2,
       2,
       {integer_rule("batch_axis", -axis_limit, axis_limit),
        integer_rule("time_axis", -axis_limit, axis_limit)}},
      {"Scatter", 3, 3, {axis}},
      {"ScatterElements", 3, 3, {axis, word_rule("reduction", "none add mul min max")}},
      {"ScatterND", 3, 3, {word_rule("reduction", "none add mul min max")}},
      {"Slice",
       1,
       5,
       {typed_rule("starts", Type::integers), typed_rule("ends", Type::integers), axes}},
      {"SpaceToDepth", 1, 1, {blocksize}},
      {"Split",
       1,
       2,
       {axis, list_rule("split", 0, std::numeric_limits<Index>::max()),
        integer_rule("num_outputs", 1, extent_limit)}},
      {"Squeeze", 1, 2, {axes}},
      {"Tile", 2, 2},
      {"Transpose", 1, 1, {list_rule("perm", 0, axis_limit)}},
      {"Trilu", 1, 2, {flag("upper")}},
      {"Unique", 1, 1, {axis, flag("sorted")}},
      {"Unsqueeze", 1, 2, {axes}},
      // Reductions, and operators along an axis.
      {"ArgMax", 1, 1, {axis, keepdims, flag("select_last_index")}},
      {"ArgMin", 1, 1, {axis, keepdims, flag("select_last_index")}},
      {"CumSum", 2, 2, {flag("exclusive"), flag("reverse")}},
      {"Hardmax", 1, 1, {axis}},
      {"LogSoftmax", 1, 1, {axis}},
      {"NegativeLogLikelihoodLoss", 2, 3, {loss, ignore_index}},
      {"ReduceL1", 1, 2, {axes, keepdims, noop}},
      {"ReduceL2", 1, 2, {axes, keepdims, noop}},
      {"ReduceLogSum", 1, 2, {axes, keepdims, noop}},
      {"ReduceLogSumExp", 1, 2, {axes, keepdims, noop}},
      {"ReduceMax", 1, 2, {axes, keepdims, noop}},
      {"ReduceMean", 1, 2, {axes, keepdims, noop}},
      {"ReduceMin", 1, 2, {axes, keepdims, noop}},
      {"ReduceProd", 1, 2, {axes, keepdims, noop}},
      {"ReduceSum", 1, 2, {axes, keepdims, noop}},
      {"ReduceSumSquare", 1, 2, {axes, keepdims, noop}},
      {"Softmax", 1, 1, {axis}},
      {"SoftmaxCrossEntropyLoss", 2, 3, {loss, ignore_index}},
      {"TopK",
       1,
       2,
       {axis, integer_rule("k", 0, std::numeric_limits<Index>::max()), flag("largest"),
        ignored(flag("sorted"))}},  // always sorted here
      // Matrix products.
      {"Einsum", 1, any_count, {required(typed_rule("equation", Type::string))}},
      {"Gemm",
       2,
       3,
       {float_rule("alpha"), float_rule("beta"), flag("transA"), flag("transB"),
        ignored(flag("broadcast"))}},
      {"MatMul", 2, 2},
      // Constants and shapes.
      {"Constant",
       0,
       0,
       {typed_rule("value", Type::tensor), typed_rule("value_float", Type::number),
        typed_rule("value_floats", Type::numbers), typed_rule("value_int", Type::integer),
        typed_rule("value_ints", Type::integers)}},
      {"ConstantOfShape", 1, 1, {typed_rule("value", Type::tensor)}},
      {"EyeLike",
       1,
       1,
       {integer_rule("k", -extent_limit, extent_limit), integer_rule("dtype", 0, 1000)}},
      {"NonZero", 1, 1},
      {"OneHot", 3, 3, {axis}},
      {"Range", 3, 3},
      {"Shape", 1, 1, {typed_rule("start", Type::integer), typed_rule("end", Type::integer)}},
      {"Size", 1, 1},
      // Image operators.
      {"AveragePool",
       1,
       1,
       {auto_pad, required(kernel), strides, dilations, pads, ceil_mode,
        flag("count_include_pad")}},
      {"Conv", 2, 3, {auto_pad, kernel, strides, dilations, pads, group}},
      {"ConvTranspose",
       2,
       3,
       {auto_pad, kernel, strides, dilations, pads, group,
        list_rule("output_padding", 0, extent_limit), list_rule("output_shape", 0, extent_limit)}},
      {"GlobalAveragePool", 1, 1},
      {"GlobalLpPool", 1, 1, {power, power_1}},
      {"GlobalMaxPool", 1, 1},
      {"LpPool",
       1,
       1,
       {auto_pad, required(kernel), strides, dilations, pads, ceil_mode, power, power_1}},
      {"MaxPool",
       1,
       1,
       {auto_pad, required(kernel), strides, dilations, pads, ceil_mode, flag("storage_order")}},
      {"Resize",
       1,
       4,
       {resize_mode, axes, flag("antialias"), flag("exclude_outside"),
        word_rule("coordinate_transformation_mode",
                  "half_pixel half_pixel_symmetric align_corners asymmetric pytorch_half_pixel "
                  "tf_half_pixel_for_nn"),
        float_rule("cubic_coeff_a"), ignored(typed_rule("extrapolation_value", Type::number)),
        word_rule("keep_aspect_ratio_policy", "stretch"),
        word_rule("nearest_mode", "round_prefer_floor round_prefer_ceil floor ceil")}},
      {"Upsample", 1, 2, {upsample_mode, typed_rule("scales", Type::numbers)}},
      // Attention.
      {"Attention",
       3,
       7,
       {flag("is_causal"), integer_rule("q_num_heads", 1, extent_limit),
        integer_rule("kv_num_heads", 1, extent_limit), float_rule("scale"),
        float_rule("softcap", 0), integer_rule("left_window_size", -1, extent_limit),
        integer_rule("right_window_size", -1, extent_limit),
        ignored(typed_rule("softmax_precision", Type::integer)),
        ignored(typed_rule("qk_matmul_output_mode", Type::integer))}},  // of output 3
      {"RotaryEmbedding",
       3,
       4,
       {integer_rule("num_heads", 0, extent_limit),
        integer_rule("rotary_embedding_dim", 0, extent_limit), flag("interleaved")}},
      // Normalization.
      {"BatchNormalization",
       5,
       5,
       {epsilon, float_rule("momentum"), flag("spatial"), flag("training_mode"),
        ignored(flag("is_test")), consumed}},
      {"GroupNormalization",
       3,
       3,
       {epsilon, required(integer_rule("num_groups", 1, extent_limit)), stash}},
      {"InstanceNormalization", 3, 3, {epsilon, consumed}},
      {"LRN",
       1,
       1,
       {float_rule("alpha"), float_rule("beta"), float_rule("bias"),
        required(integer_rule("size", 1, extent_limit))}},
      {"LayerNormalization", 2, 3, {epsilon, axis, stash}},
      {"RMSNormalization", 2, 2, {epsilon, axis, stash}},
      {"SimplifiedLayerNormalization", 2, 2, {epsilon, axis, stash}}};
  return all;
}

std::vector<OnnxSchema> schemas_of_rows() {
  std::vector<OnnxSchema> all;
  const auto add = [&](std::string_view op, std::size_t least, std::size_t most, bool consumes,
                       std::vector<Rule> attributes = {}) {
    if (op.empty()) return;
    if (consumes) attributes.push_back(consumed);
    all.push_back({op, least, most, std::move(attributes)});
  };
  for (const UnaryRow& row : unary_rows()) {
    std::vector<Rule> attributes;
    for (const UnaryAttribute& a : {row.a, row.b})
      if (!a.name.empty()) attributes.push_back(float_rule(a.name));
    add(row.onnx, 1, 1, row.consumes, std::move(attributes));
  }
  for (const BinaryRow& row : binary_rows()) {
    add(row.onnx, 2, 2, row.consumes);
    add(row.variadic, 1, any_count, true);
  }
  for (const ComparisonRow& row : comparison_rows()) add(row.onnx, 2, 2, false);
  return all;
}

constexpr std::string_view type_names[] = {
    "UNDEFINED",      "FLOAT",      "INT",        "STRING",  "TENSOR", "GRAPH",
    "FLOATS",         "INTS",       "STRINGS",    "TENSORS", "GRAPHS", "SPARSE_TENSOR",
    "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};
std::string_view name_of(Type t) { return type_names[static_cast<std::size_t>(t)]; }

// Files before IR version 2 have no attribute types.
bool has_type(const OnnxAttribute& a, const Rule& r) {
  return a.type == r.type || a.type == Type::undefined;
}

bool is_among(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

void check_integer(const Rule& r, Index value) {
  if (value >= r.least && value <= r.most) return;
  const char* verb = r.type == Type::integer ? "is" : "has";
  if (r.most == std::numeric_limits<Index>::max())
    fail("attribute {} {} {}: expected {} or more", r.name, verb, value, r.least);
  fail("attribute {} {} {}: expected {} to {}", r.name, verb, value, r.least, r.most);
}

void check_value(const Rule& r, const OnnxAttribute& a) {
  if (r.is_ignored) return;
  if (r.type == Type::integer) check_integer(r, a.integer);
  for (const Index i : a.integers)
    if (r.type == Type::integers) check_integer(r, i);
  const bool is_bounded = std::isfinite(r.lowest) || std::isfinite(r.highest);
  if (r.type == Type::number && is_bounded && !(a.number >= r.lowest && a.number <= r.highest))
    fail("attribute {} is {}: expected {} to {}", r.name, a.number, r.lowest, r.highest);
  if (r.type == Type::string && !r.words.empty() && !is_among(r.words, a.string)) {
    std::string choices(r.words);
    for (std::size_t at = 0; (at = choices.find(' ', at)) != std::string::npos; at += 2)
      choices.replace(at, 1, ", ");
    fail("unsupported attribute {} of {}: expected one of {}", r.name, quote(a.string), choices);
  }
}

void check_attributes(const OnnxNode& node, const OnnxSchema& schema) {
  std::vector<std::string_view> given;
  for (const OnnxAttribute& a : node.attributes) {
    const auto rule = std::ranges::find_if(
        schema.attributes, [&](const Rule& r) { return r.name == a.name && has_type(a, r); });
    const auto any = std::ranges::find(schema.attributes, a.name, &Rule::name);
    if (any == schema.attributes.end()) fail("unsupported attribute {}", quote(a.name));
    if (rule == schema.attributes.end())
      fail("attribute {} has the type {}: expected {}", a.name, name_of(a.type),
           name_of(any->type));
    if (std::ranges::count(given, a.name) > 0) fail("duplicate attribute {}", a.name);
    given.push_back(a.name);
    check_value(*rule, a);
  }
  for (const Rule& r : schema.attributes)
    if (r.is_required && !node.find(r.name)) fail("missing attribute {}", r.name);
}

void check_inputs(const OnnxNode& node, const OnnxSchema& schema) {
  std::size_t count = node.inputs.size();
  while (count > 0 && node.inputs[count - 1].empty()) --count;
  const std::size_t least = schema.least_inputs, most = schema.most_inputs;
  if (count < least || count > most)
    fail("expected {} input{}, got {}",
         most == any_count ? fmt::format("{} or more", least)
         : least == most   ? fmt::format("{}", least)
                           : fmt::format("{} to {}", least, most),
         most == 1 ? "" : "s", count);
  for (std::size_t i = 0; i < (most == any_count ? count : least); ++i)
    if (node.inputs[i].empty()) fail("missing input {}", i);
}

}  // namespace onnx_schemas
}  // namespace

const OnnxSchema* find_onnx_schema(std::string_view op) {
  static const std::map<std::string_view, const OnnxSchema*> by_name = [] {
    std::map<std::string_view, const OnnxSchema*> m;
    static const std::vector<OnnxSchema> of_rows = onnx_schemas::schemas_of_rows();
    for (const auto* schemas : {&of_rows, &onnx_schemas::schemas()})
      for (const OnnxSchema& s : *schemas) m.emplace(s.op, &s);
    return m;
  }();
  const auto at = by_name.find(op);
  return at == by_name.end() ? nullptr : at->second;
}

void check_onnx_node(const OnnxNode& node, const OnnxSchema& schema) {
  onnx_schemas::check_inputs(node, schema);
  onnx_schemas::check_attributes(node, schema);
}

}  // namespace sten
