// SPDX-License-Identifier: Apache-2.0
// Translators: build the nodes of ONNX operators.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/files/onnx/model.h"
#include "libsten/model/fusion/graph_builder.h"
#include "libsten/model/graph/inference.h"
#include "libsten/model/onnx/mode.h"
#include "libsten/model/onnx/schema.h"

namespace sten {

// What training needs of batch norms and dropouts.
struct OnnxTraining {
  OnnxMode mode = OnnxMode::exported;
  Momenta momenta{};               // see OnnxImport
  bool is_exported = false;        // whether batch norms are in training mode
  std::optional<ValueRef> draw{};  // the input of dropouts
  // Random values, which only stochastic depth may use.
  struct Random {
    ValueRef like = 0;                    // has their shape
    std::optional<double> probability{};  // of 1, else 0; none: uniform in [0, 1)
    std::string name;                     // in the file
  };
  std::map<ValueRef, Random> random{};
};

// A node of the file whose inputs are values of a builder.
class OnnxCall {
 public:
  // An omitted input is none.
  OnnxCall(const OnnxNode& node, const OnnxSchema& schema, GraphBuilder& builder,
           std::vector<std::optional<ValueRef>> in, std::int64_t opset, OnnxTraining& training);

  GraphBuilder& builder;
  OnnxTraining& training;
  const OnnxNode& node;
  const std::int64_t opset;

  std::size_t inputs() const { return in_.size(); }
  bool has(std::size_t i) const { return i < in_.size() && in_[i]; }
  // Error if the input is omitted.
  ValueRef in(std::size_t i) const;
  std::vector<ValueRef> all_in() const;  // Error if an input is omitted
  const BuilderValue& value(std::size_t i) const { return builder[in(i)]; }
  // Error with the reason `why` if the rank, or the dtype, is unknown.
  const ExtentList& shape(std::size_t i) const;
  DType dtype(std::size_t i) const;
  // The number of outputs, up to the last named one.
  std::size_t outputs() const { return node.outputs.size(); }
  bool wants(std::size_t i) const { return i < outputs() && !node.outputs[i].empty(); }

  // Attributes have the types of the schema. An attribute of the file that no translator reads is
  // an error, unless the schema ignores it; see check_attributes().
  bool has_attribute(std::string_view name);
  Index integer(std::string_view name, Index fallback);
  double number(std::string_view name, double fallback);
  std::string word(std::string_view name, const std::string& fallback);
  std::vector<Index> integers(std::string_view name);
  const OnnxTensor* tensor(std::string_view name);
  // Error with the name of an attribute that was not read.
  void check_attributes() const;

  // The integers of input i, or of the attribute in older opsets. None if they are known only when
  // the model runs, or if there are none (see `has_list`).
  std::optional<std::vector<Index>> list(std::size_t i, std::string_view attribute);
  bool has_list(std::size_t i, std::string_view attribute) {
    return has(i) || has_attribute(attribute);
  }

  // Adds a node.
  ValueRef add(Name op, std::vector<ValueRef> in, Attributes attributes = {});
  // Sets an output. The node of output 0 gets the name of the file's node; those of other outputs
  // get the names of the file's values.
  void set(std::size_t output, ValueRef value);
  const std::vector<std::optional<ValueRef>>& results() const { return results_; }

  // Converts a value of `rank` axes between [N, spatial..., C], sten's order of images, and [N, C,
  // spatial...], ONNX's. Below 3 axes both are the same.
  ValueRef channels_last(ValueRef x, std::size_t rank);
  // Sets an output from a value in channels last. Its node gets the name, not the transpose.
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
void add_random_translators(OnnxTranslators& all);
void add_attention_translators(OnnxTranslators& all);

// By ONNX operator.
const OnnxTranslators& onnx_translators();

// A dropout of x with probability p, whose seed the name determines.
ValueRef add_dropout(OnnxCall& c, ValueRef x, double p, std::string_view name);

// Windows over spatial axes, by the common attributes.
struct OnnxWindows {
  std::vector<Index> kernel, strides, dilations, pads;  // pads: before, then after each axis

  // Error for lists of another length, and for an empty kernel.
  OnnxWindows(OnnxCall& c, std::vector<Index> kernel);
  // Resolves auto_pad by the extents of x [N, C, spatial...]. Error if these are unknown but
  // needed.
  void pad(OnnxCall& c);
  Index span(std::size_t d) const { return (kernel[d] - 1) * dilations[d] + 1; }
  Attributes attributes() const;  // strides, dilations and pads
};

// The values of an attribute's tensor.
Dense onnx_constant(const OnnxTensor& t);

}  // namespace sten
