// Operators of ONNX as steps of a draft.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/io/onnx/model.h"
#include "libsten/onnx/graph_builder.h"
#include "libsten/onnx/schema.h"

namespace sten {

// A node of the file whose inputs are values of a draft.
class OnnxCall {
 public:
  // An input that is left out is nothing.
  OnnxCall(const OnnxNode& node, const OnnxSchema& schema, GraphBuilder& builder,
           std::vector<std::optional<ValueRef>> in, std::int64_t opset);

  GraphBuilder& builder;
  const OnnxNode& node;
  const std::int64_t opset;

  std::size_t inputs() const { return in_.size(); }
  bool has(std::size_t i) const { return i < in_.size() && in_[i]; }
  // Error where it is left out.
  ValueRef in(std::size_t i) const;
  std::vector<ValueRef> all_in() const;  // Error where one is left out
  const BuilderValue& value(std::size_t i) const { return builder[in(i)]; }
  // Error where the rank, or the element type, is not known, as `why` says.
  const ExtentList& shape(std::size_t i) const;
  DType dtype(std::size_t i) const;
  // How many outputs are named, the last of them counting.
  std::size_t outputs() const { return node.outputs.size(); }
  bool wants(std::size_t i) const { return i < outputs() && !node.outputs[i].empty(); }

  // Attributes are as their schema says. What a file has and nobody reads is an error, but for what the
  // schema ignores; see check_attributes().
  bool has_attribute(std::string_view name);
  Index integer(std::string_view name, Index fallback);
  double number(std::string_view name, double fallback);
  std::string word(std::string_view name, const std::string& fallback);
  std::vector<Index> integers(std::string_view name);
  const OnnxTensor* tensor(std::string_view name);
  // Error that names an attribute that nobody read.
  void check_attributes() const;

  // The integers of input i, or of the attribute in older opsets; nothing where they are known only
  // when the model runs, or where there are none, which `has_list` tells.
  std::optional<std::vector<Index>> list(std::size_t i, std::string_view attribute);
  bool has_list(std::size_t i, std::string_view attribute) {
    return has(i) || has_attribute(attribute);
  }

  // A step of the node.
  ValueRef add(Name op, std::vector<ValueRef> in, Attributes attributes = {});
  // The step of output 0 gets the node's name, those of others the names of the file's values.
  void set(std::size_t output, ValueRef value);
  const std::vector<std::optional<ValueRef>>& results() const { return results_; }

  // sten has images as [N, spatial..., C], ONNX as [N, C, spatial...]. A value of `rank` axes turned
  // from one to the other; below 3 axes it is the same.
  ValueRef channels_last(ValueRef x, std::size_t rank);
  // An output from a value whose channels are last. Its step has the name, not the transpose.
  void set_channels_last(std::size_t output, ValueRef y, std::size_t rank);

 private:
  const OnnxAttribute* find(std::string_view name);
  void give_name(std::size_t output, ValueRef value);

  const OnnxSchema& schema_;
  std::vector<std::optional<ValueRef>> in_, results_;
  std::vector<std::string_view> read_;
  std::size_t first_node_;
};

using OnnxTranslator = void (*)(OnnxCall&);
using OnnxTranslators = std::map<std::string_view, OnnxTranslator>;

void add_elementwise_translators(OnnxTranslators& all);
void add_movement_translators(OnnxTranslators& all);
void add_reduction_translators(OnnxTranslators& all);
void add_product_translators(OnnxTranslators& all);
void add_constant_translators(OnnxTranslators& all);
void add_image_translators(OnnxTranslators& all);
void add_pool_translators(OnnxTranslators& all);
void add_norm_translators(OnnxTranslators& all);
void add_resize_translators(OnnxTranslators& all);

// By ONNX's names.
const OnnxTranslators& onnx_translators();

// The windows of an operator that moves them over spatial axes, by the usual attributes.
struct OnnxWindows {
  std::vector<Index> kernel, strides, dilations, pads;  // pads: before each axis, then after each

  // Error for lists of another length, and for a kernel without elements.
  OnnxWindows(OnnxCall& c, std::vector<Index> kernel);
  // Pads as auto_pad says: of x [N, C, spatial...], where they depend on its extents. Error where
  // these are open.
  void pad(OnnxCall& c);
  Index span(std::size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
  Attributes attributes() const;  // strides, dilations, pads
};

// The values of an attribute's tensor.
Dense onnx_constant(const OnnxTensor& t);

}  // namespace sten
