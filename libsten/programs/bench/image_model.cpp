// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/image_model.h"

#include "libsten/core/base/text.h"
#include "libsten/model/nn/resnet.h"
#include "libsten/programs/bench/input.h"

namespace sten {
namespace {

constexpr Index usual_pixels = 32, least_large = 64;

// The numbers after each "-": 16 and 8 for "wrn-16-8".
std::vector<Index> numbers_in(std::string_view text) {
  std::vector<Index> all;
  for (std::size_t dash = text.find('-'); dash != text.npos;) {
    const std::size_t next = text.find('-', dash + 1);
    Index n = 0;
    const std::size_t end = next == text.npos ? text.size() : next;
    if (!parse_integer(text.substr(dash + 1, end - dash - 1), n) || n < 1) return {};
    all.push_back(n);
    dash = next;
  }
  return all;
}

}  // namespace

Dense BenchImages::images(std::uint64_t seed) const {
  return bench_input("normal", {batch, pixels, pixels, 3}, seed);
}

std::optional<BenchImages> bench_images(const std::string& text, const BenchOptions& o) {
  const bool is_wide = text.starts_with("wrn-");
  if (!is_wide && !text.starts_with("resnet-")) return {};
  const std::vector<Index> n = numbers_in(text);
  if (n.size() != (is_wide ? 2 : 1))
    fail_usage("--shape {}: expected {}", quote(text),
               is_wide ? "wrn-DEPTH-WIDTH, such as wrn-16-8" : "resnet-DEPTH, such as resnet-50");
  const Index pixels = o.window.value_or(usual_pixels);
  const bool is_small = pixels < least_large;
  const Index classes = is_wide || is_small ? 10 : 1000;
  Graph g =
      is_wide ? wide_resnet({n[0], n[1], classes, 3, 0}) : resnet({n[0], classes, 3, 64, is_small});
  const Index width = is_wide ? n[1] : 64;
  const Index batch = o.batch.value_or(is_wide && n[0] * n[1] <= 10 ? 128 : 32);
  return BenchImages{text, std::move(g), classes, batch, pixels, {n[0], width, batch, pixels}};
}

std::vector<std::string> convolution_weights(const Graph& g) {
  std::vector<std::string> all;
  for (const Weight& w : g.weights())
    if (w.shape.size() == 4 && w.shape[1] > 3) all.push_back(w.name);
  return all;
}

std::vector<BenchImages> take_images(BenchOptions& o) {
  std::vector<BenchImages> all;
  std::vector<std::string> rest;
  for (const std::string& text : o.shapes) {
    if (auto model = bench_images(text, o))
      all.push_back(std::move(*model));
    else
      rest.push_back(text);
  }
  o.shapes = std::move(rest);
  return all;
}

}  // namespace sten
