// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/slower.h"

#include <algorithm>

#include "libsten/core/base/json_reader.h"
#include "libsten/programs/bench/bert.h"

namespace sten {

bool compares_with_dense(const std::string& bench) { return bench == "gemm" || bench == "model"; }

std::string add_slower(const BenchOptions& o, const std::vector<BenchRow>& rows, Report& r) {
  if (!compares_with_dense(o.bench)) return "";
  std::vector<const BenchRow*> slower;
  std::size_t sparse = 0;
  for (const BenchRow& row : rows) {
    const bool is_whole = row.bench != "model" || row.form == "forward";
    if (!is_whole || !row.library.empty() || row.layout == "dense" || !row.ratio) continue;
    ++sparse;
    if (row.ratio->high < 1) slower.push_back(&row);
  }
  if (slower.empty()) return "";
  for (const BenchRow* row : slower)
    r.facts.emplace_back("slower_than_dense" + pointer_step(describe(*row)), row->ratio->median);
  const BenchRow& most = **std::ranges::min_element(
      slower, {}, [](const BenchRow* row) { return row->ratio->median; });
  std::string text =
      fmt::format("slower than dense on this machine: {} of {} layouts, {} the most: ratio {:.3g}",
                  slower.size(), sparse, describe(most), most.ratio->median);
  if (o.bench == "model" && std::ranges::count(o.layouts, fastest_layout) == 0)
    text += "; --layouts auto takes the fastest layout of each weight";
  r.notes.push_back(text);
  return text;
}

}  // namespace sten
