// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/compressed_exchange.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "libsten/core/base/text.h"
#include "libsten/core/registry/registry.h"
#include "libsten/training/optim/gradients.h"
#include "libsten/training/task/step_formats.h"

namespace sten {
namespace {

using Words = std::vector<std::uint32_t>;

constexpr Index word_bits = 32;

// Whether the positions of k of n values are sent as a list of indices, not as bits.
bool is_list(Index k, Index n) { return k <= ceil_div(n, word_bits); }

// Appends the selected values of x to the message.
void append(Words& message, std::span<const float> x, const Mask& selected) {
  const Index n = std::ssize(x), k = selected.count();
  message.push_back(static_cast<std::uint32_t>(k));
  const std::size_t positions = message.size();
  if (!is_list(k, n)) message.resize(positions + static_cast<std::size_t>(ceil_div(n, word_bits)));
  Words values;
  values.reserve(static_cast<std::size_t>(k));
  for (Index i = 0; i < n; ++i) {
    if (!selected[i]) continue;
    values.push_back(std::bit_cast<std::uint32_t>(x[static_cast<std::size_t>(i)]));
    if (is_list(k, n))
      message.push_back(static_cast<std::uint32_t>(i));
    else
      message[positions + static_cast<std::size_t>(i / word_bits)] |= 1u << (i % word_bits);
  }
  message.insert(message.end(), values.begin(), values.end());
}

// Adds the values of the message from `at` on to the sum; returns the end of its gradient.
std::size_t add_values(const Words& message, std::size_t at, std::span<float> sum) {
  const Index n = std::ssize(sum), k = Index{message[at++]};
  const auto width = static_cast<std::size_t>(is_list(k, n) ? k : ceil_div(n, word_bits));
  const std::uint32_t* positions = message.data() + at;
  const std::uint32_t* values = positions + width;
  if (is_list(k, n)) {
    for (Index j = 0; j < k; ++j) sum[positions[j]] += std::bit_cast<float>(values[j]);
  } else {
    for (Index i = 0; i < n; ++i)
      if (positions[i / word_bits] >> (i % word_bits) & 1)
        sum[static_cast<std::size_t>(i)] += std::bit_cast<float>(*values++);
  }
  return at + width + static_cast<std::size_t>(k);
}

// What is left of a gradient once the selected values are sent.
Tensor without(Tensor gradient, const Mask& selected) {
  return Tensor::update(std::move(gradient), [&](Values& v) {
    const auto x = v.mutate<float>();
    for (std::size_t i = 0; i < x.size(); ++i)
      if (selected[static_cast<Index>(i)]) x[i] = 0;
  });
}

}  // namespace

bool is_compressible(const Shape& weight) {
  return weight.size() >= 2 && size_of(weight) <= std::numeric_limits<std::uint32_t>::max();
}

void check_compression(const TrainedWeights& weights) {
  const ExchangeRecipe& e = weights.task.recipe().exchange;
  if (!e.compresses()) return;
  if (weights.device != Device::cpu)
    fail_usage("/exchange/sparsifier: gradients on {} cannot be compressed (expected the CPU)",
               name_of(weights.device));
  const Graph& g = weights.task.graph();
  for (const Weight& w : g.weights())
    if (is_compressible(w.shape) && weights.task.trains(w.name)) try {
        registry().sparsifier(e.sparsifier).select(Dense::zeros(DType::F32, w.shape));
      } catch (const Error& error) {
        throw Error(error.fault(),
                    fmt::format("/exchange/sparsifier: {}: {}", quote(w.name), error.what()));
      }
}

Sparsifier CompressedExchange::sparsifier(const std::string& weight) const {
  const Recipe& r = weights_.task.recipe();
  return sparsifier_in_step(r.exchange.sparsifier, weight + "/exchange", r.seed,
                            weights_.state.step);
}

bool CompressedExchange::add(std::size_t i, Tensor& gradient, bool all_positions) {
  const Parameter& p = weights_.state.parameters[i];
  NamedValues<Tensor>& residuals = weights_.state.residuals[ranks_.rank()];
  const auto residual = residuals.find(p.name);
  const bool is_dense = p.value.is<Dense>() && gradient.is<Dense>();
  // Added to a gradient that is sent whole, too, and then sent with it.
  if (is_dense && residual != residuals.end()) add_gradient(gradient, residual->second);
  const ExchangeRecipe& e = weights_.task.recipe().exchange;
  if (!is_dense || all_positions || weights_.state.step < e.begin ||
      !is_compressible(p.value.shape())) {
    if (residual != residuals.end()) residuals.erase(residual);
    return false;
  }
  const Mask selected = sparsifier(p.name).select(gradient.as<Dense>());
  append(message_, gradient.values()->as<float>(), selected);
  if (e.error_feedback) residuals.insert_or_assign(p.name, without(std::move(gradient), selected));
  gradient = Dense::zeros(DType::F32, p.value.shape());
  gradients_.push_back(&gradient);
  return true;
}

std::uint64_t CompressedExchange::finish() {
  if (gradients_.empty()) return 0;
  const std::uint64_t before = ranks_.bytes();
  const std::vector<Words> messages = ranks_.gather(message_);
  std::vector<std::size_t> at(messages.size());
  for (Tensor* gradient : gradients_)
    *gradient = Tensor::update(std::move(*gradient), [&](Values& v) {
      for (std::size_t r = 0; r < messages.size(); ++r)
        at[r] = add_values(messages[r], at[r], v.mutate<float>());
    });
  return ranks_.bytes() - before;
}

}  // namespace sten
