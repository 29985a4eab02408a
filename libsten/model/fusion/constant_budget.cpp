// SPDX-License-Identifier: Apache-2.0
// Limits of the work and memory of computed constants: a kilobyte of nodes can describe products of
// any size.
#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/model/fusion/graph_builder.h"

namespace sten {
namespace {

double elements_of(const BuilderValue& v) {
  double n = 1;
  for (const Extent& e : v.shape.value_or(ExtentList{}))
    n *= e.is_known() ? static_cast<double>(e.number) : 1;
  return n;
}

// Multiply-adds per element of the result of a product or of image windows; 0 for other operators.
double products_of(const GraphBuilder& builder, const BuilderNode& node) {
  const std::string_view op = node.op.text();
  const auto extent = [&](std::size_t i, bool is_last) {
    const auto& x = builder[node.in[i]].shape;
    if (!x || x->empty()) return 1.0;
    const Extent e = is_last ? x->back() : x->front();
    return e.is_known() ? std::max(1.0, static_cast<double>(e.number)) : 1.0;
  };
  if (op == "matmul" || op == "linear") return extent(0, true);
  if (op.starts_with("conv")) return elements_of(builder[node.in[1]]) / extent(1, false);
  double window = op.ends_with("pool") || op.ends_with("pool-indices") ? 1 : 0;
  const std::vector<Index> kernel = node.attributes.list("kernel", {});
  for (const Index k : kernel) window *= static_cast<double>(k);
  return window;
}

// An element of any other operator costs about as many multiply-adds.
constexpr double per_element = 8;

double operations_of(const GraphBuilder& builder, const BuilderNode& node,
                     const BuilderValue& result) {
  const double n = elements_of(result);
  double elements = n;
  for (const ValueRef r : node.in) elements += elements_of(builder[r]);
  return n * products_of(builder, node) + per_element * elements;
}

}  // namespace

// A second of work; memory such that the program stays within 256 MiB and 20 times the file size.
ConstantBudget::ConstantBudget(std::size_t file_bytes)
    : most_bytes_(0x1p27 + 8 * static_cast<double>(file_bytes)),
      most_operations_(0x1p32 + 64 * static_cast<double>(file_bytes)) {}

void ConstantBudget::spend(const GraphBuilder& builder, const BuilderNode& node,
                           const BuilderValue& result) {
  bytes_ += elements_of(result) * static_cast<double>(width_of(result.dtype.value_or(DType::F32)));
  operations_ += operations_of(builder, node, result);
  if (bytes_ > most_bytes_)
    fail("computed constants of the graph exceed the limit for a file of this size, {:.0f} MB",
         most_bytes_ / 1e6);
  if (operations_ > most_operations_)
    fail(
        "computed constants of the graph exceed the limit for a file of this size, {:.1f} billion "
        "multiply-adds",
        most_operations_ / 1e9);
}

}  // namespace sten
