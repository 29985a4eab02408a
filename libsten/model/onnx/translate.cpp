// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/onnx/translate.h"

#include <algorithm>
#include <cstring>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/onnx/weights.h"

namespace sten {

OnnxCall::OnnxCall(const OnnxNode& n, const OnnxSchema& schema, GraphBuilder& d,
                   std::vector<std::optional<ValueRef>> in, std::int64_t version, OnnxTraining& t)
    : builder(d),
      training(t),
      node(n),
      opset(version),
      schema_(schema),
      in_(std::move(in)),
      results_(n.outputs.size()),
      first_node_(d.steps().size()) {}

ValueRef OnnxCall::in(std::size_t i) const {
  if (!has(i)) fail("missing input {}", i);
  return *in_[i];
}

std::vector<ValueRef> OnnxCall::all_in() const {
  std::vector<ValueRef> all;
  for (std::size_t i = 0; i < inputs(); ++i) all.push_back(in(i));
  return all;
}

const ExtentList& OnnxCall::shape(std::size_t i) const {
  if (!value(i).shape) fail("unknown rank of input {}", i);
  return *value(i).shape;
}

DType OnnxCall::dtype(std::size_t i) const {
  if (!value(i).dtype) fail("unknown data type of input {}", i);
  return *value(i).dtype;
}

const OnnxAttribute* OnnxCall::find(std::string_view name) {
  read_.push_back(name);
  return node.find(name);
}

bool OnnxCall::has_attribute(std::string_view name) { return find(name) != nullptr; }

Index OnnxCall::integer(std::string_view name, Index fallback) {
  const OnnxAttribute* a = find(name);
  return a ? a->integer : fallback;
}
double OnnxCall::number(std::string_view name, double fallback) {
  const OnnxAttribute* a = find(name);
  return a ? a->number : fallback;
}
std::string OnnxCall::word(std::string_view name, const std::string& fallback) {
  const OnnxAttribute* a = find(name);
  return a ? std::string(a->string) : fallback;
}
std::vector<Index> OnnxCall::integers(std::string_view name) {
  const OnnxAttribute* a = find(name);
  return a ? a->integers : std::vector<Index>();
}
const OnnxTensor* OnnxCall::tensor(std::string_view name) {
  const OnnxAttribute* a = find(name);
  return a && a->tensors.size() == 1 ? &a->tensors.front() : nullptr;
}

void OnnxCall::check_attributes() const {
  const auto is_ignored = [&](std::string_view name) {
    const auto rule = std::ranges::find(schema_.attributes, name, &OnnxAttributeRule::name);
    return rule != schema_.attributes.end() && rule->is_ignored;
  };
  for (const OnnxAttribute& a : node.attributes)
    if (std::ranges::find(read_, a.name) == read_.end() && !is_ignored(a.name))
      fail("unsupported attribute {} in opset {}", quote(a.name), opset);
}

std::optional<std::vector<Index>> OnnxCall::list(std::size_t i, std::string_view attribute) {
  if (!has(i)) return integers(attribute);
  Shape all;
  if (!value(i).elements || !all_known(*value(i).elements, all)) return {};
  return all;
}

ValueRef OnnxCall::add(Name op, std::vector<ValueRef> in, Attributes attributes) {
  const std::string_view own = node.name.empty() ? node.outputs.front() : node.name;
  return builder.add(op, std::move(in), std::move(attributes),
                     fmt::format("{}.{}", own, op.text()));
}

void OnnxCall::give_name(std::size_t output, ValueRef value) {
  const bool is_own = builder[value].node && *builder[value].node >= first_node_;
  if (is_own)
    builder.change(value).name =
        output == 0 && !node.name.empty() ? node.name : node.outputs[output];
}

void OnnxCall::set(std::size_t output, ValueRef value) {
  if (output >= results_.size()) return;
  results_[output] = value;
  give_name(output, value);
}

ValueRef OnnxCall::channels_last(ValueRef x, std::size_t rank) {
  if (rank < 3) return x;
  return add("transpose", {x}, Attributes().set("axes", axes_to_last(rank)));
}

void OnnxCall::set_channels_last(std::size_t output, ValueRef y, std::size_t rank) {
  if (rank < 3) return set(output, y);
  if (output >= results_.size()) return;
  results_[output] = add("transpose", {y}, Attributes().set("axes", axes_to_first(rank)));
  give_name(output, y);
}

const OnnxTranslators& onnx_translators() {
  static const OnnxTranslators all = [] {
    OnnxTranslators m;
    add_random_translators(m);  // before the rows of binary operators
    add_elementwise_translators(m);
    add_movement_translators(m);
    add_reduction_translators(m);
    add_product_translators(m);
    add_constant_translators(m);
    add_image_translators(m);
    add_pool_translators(m);
    add_norm_translators(m);
    add_resize_translators(m);
    add_attention_translators(m);
    return m;
  }();
  return all;
}

Dense onnx_constant(const OnnxTensor& t) {
  if (t.store == OnnxStore::external)
    fail("constant: expected values in the node, got external data");
  const DType dtype = onnx_dtype(t.data_type);
  if (width_of(dtype) == 0) fail("constant: unsupported data type {}", name_of(dtype));
  const Index n = checked_size(t.dims);
  std::vector<std::byte> decoded;
  std::optional<ByteRange> bytes = onnx_bytes_in_place(t);
  if (!bytes) {
    decoded = decode_onnx(t, dtype);
    bytes = decoded;
  }
  if (bytes->size() != static_cast<std::size_t>(n) * static_cast<std::size_t>(width_of(dtype)))
    fail("constant: expected {} bytes for shape {} of {}, got {}", n * width_of(dtype),
         to_string(t.dims), name_of(dtype), bytes->size());
  Dense x = Dense::zeros(dtype, t.dims);
  if (n > 0) std::memcpy(x.values.mutate_bytes(), bytes->data(), bytes->size());
  return x;
}

}  // namespace sten
