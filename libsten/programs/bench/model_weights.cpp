// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/model_weights.h"

#include "libsten/core/base/text.h"
#include "libsten/model/execution/fastest_layouts.h"
#include "libsten/model/graph/ignored_zeros.h"

namespace sten {
namespace {

double share_of_zeros(const NamedValues<Tensor>& values, const std::vector<std::string>& names) {
  double zeros = 0, elements = 0;
  for (const std::string& name : names) {
    const Tensor& w = values.find(name)->second;
    const auto size = static_cast<double>(size_of(w.shape()));
    zeros += size * (1 - share_of_nonzeros(w));
    elements += size;
  }
  return elements > 0 ? zeros / elements : 0;
}

}  // namespace

LayoutOfRows layout_of_rows(const BenchGraph& model, std::string name, BenchZeros zeros,
                            const NamedValues<Tensor>& values,
                            const std::vector<std::string>& names,
                            std::vector<std::string>& notes) {
  Index sparse = 0;
  const std::vector<IgnoredZeros> ignored = ignored_zeros(model.graph, values, &sparse);
  if (!ignored.empty() && name != Dense::name)
    notes.push_back(fmt::format("{}: {}", name, describe(ignored, sparse)));
  LayoutOfRows about{std::move(name), "", std::nullopt, std::ssize(ignored)};
  if (model.file.empty()) return about;
  about.zeros = zeros == BenchZeros::file ? "file" : "pruned";
  about.sparsity = share_of_zeros(values, names);
  return about;
}

std::vector<std::string> put_into_layout(const BenchLayout& layout, const BenchGraph& model,
                                         NamedValues<Tensor>& values,
                                         std::vector<std::string>& notes) {
  std::vector<std::string> done;
  std::size_t unfit = 0, full = 0;
  std::string why;
  for (const std::string& name : model.sparse) {
    Tensor& w = values.find(name)->second;
    const Dense& given = w.as<Dense>();
    if (layout.zeros == BenchZeros::file && share_of_nonzeros(w) == 1) {
      ++full;
      continue;
    }
    try {
      w = layout.convert(layout.prepare(given));
      done.push_back(name);
    } catch (const Error& e) {
      if (unfit++ == 0) why = fmt::format("{}: {}", quote(name), e.what());
    }
  }
  const std::size_t all = model.sparse.size();
  if (done.empty() && full > 0 && unfit == 0)
    fail_usage(
        "--layouts {}: the weights of {} have no zeros (--layouts {} prunes the weights first)",
        layout.name, printable(model.file), layout.pruning());
  if (done.empty() && unfit > 0 && layout.zeros == BenchZeros::file)
    fail_usage(
        "--layouts {}: the zeros of {} do not fit: {} (--layouts {} prunes the weights first)",
        layout.name, printable(model.file), why, layout.pruning());
  if (done.empty() && all > 0) fail_usage("{}", why);
  if (full > 0)
    notes.push_back(
        fmt::format("{}: {} of {} weights have no zeros and stay dense", layout.name, full, all));
  if (unfit > 0)
    notes.push_back(
        fmt::format("{}: {} of {} weights stay dense: {}", layout.name, unfit, all, why));
  return done;
}

}  // namespace sten
