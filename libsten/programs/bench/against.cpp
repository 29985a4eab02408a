// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/against.h"

#include <cmath>
#include <fstream>

#include "libsten/core/base/json.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

using Json = nlohmann::ordered_json;

// "" for a missing or null key.
std::string word(const Json& j, const char* key) {
  return j.contains(key) && !j[key].is_null() ? j[key].get<std::string>() : "";
}

// Half of the logarithm of a spread, which a factor of the ratio does not change.
double half_width(const Spread& s) {
  return s.low > 0 && s.high > s.low ? std::log(s.high / s.low) / 2 : 0;
}

}  // namespace

Baseline Baseline::read(const std::string& path, const std::string& cpu, const std::string& isa) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail("{}: cannot read the file", printable(path));
  Baseline out;
  out.path_ = path;
  std::string its_cpu, its_isa;
  try {
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const Json j = parse_json(text, printable(path), Fault::input);
    if (j.at("schema") != 1) fail("{}: expected \"schema\": 1", printable(path));
    its_cpu = j.at("machine").at("cpu").get<std::string>();
    its_isa = j.at("machine").at("isa").get<std::string>();
    for (const Json& r : j.at("results")) {
      if (r.at("ratio").is_null() || !word(r, "library").empty()) continue;
      Row row{.bench = r.at("bench").get<std::string>(),
              .form = word(r, "form"),
              .model = r.contains("model") ? word(r, "model") : "",
              .input = word(r, "input"),
              .layout = r.at("layout").get<std::string>(),
              .precision = word(r, "precision").empty() ? "float32" : word(r, "precision"),
              .isa = r.at("isa").get<std::string>(),
              .shape = r.at("shape").get<Shape>(),
              .threads = r.at("threads").get<int>(),
              .ratio = {r.at("ratio").get<double>(), r.at("ratio_low").get<double>(),
                        r.at("ratio_high").get<double>()}};
      if (!(row.ratio.median > 0)) fail("{}: ratio must be > 0", printable(path));
      out.rows_.push_back(std::move(row));
    }
  } catch (const Json::exception& e) {
    std::string what = printable(e.what());
    what.erase(0, what.find("] ") == what.npos ? 0 : what.find("] ") + 2);
    fail("{}: not results of sten-bench: {}", printable(path), what);
  }
  if (its_cpu != cpu)
    fail("{}: measured on a different CPU: expected {}, got {}", printable(path), quote(its_cpu),
         quote(cpu));
  if (its_isa != isa)
    fail("{}: measured with a different ISA: expected {}, got {}", printable(path), quote(its_isa),
         isa);
  return out;
}

std::optional<Baseline::Slowdown> Baseline::slowdown(const BenchRow& row, double limit) const {
  if (!row.ratio || !row.library.empty()) return std::nullopt;
  for (const Row& r : rows_) {
    if (r.bench != row.bench || r.form != row.form || r.layout != row.layout ||
        r.model != row.model || r.shape != row.shape || r.threads != row.threads ||
        r.precision != row.precision || r.isa != isa_of(row) ||
        (!r.input.empty() && r.input != row.input))
      continue;
    const double spread = std::exp(std::hypot(half_width(r.ratio), half_width(*row.ratio)));
    return Slowdown{r.ratio.median, r.ratio.median / row.ratio->median, std::max(limit, spread)};
  }
  return std::nullopt;
}

std::vector<std::optional<Baseline::Slowdown>> Baseline::compare(
    std::vector<BenchRow>& rows, double limit,
    const std::function<std::optional<BenchRow>(const BenchRow&)>& measure_again) const {
  constexpr int more = 2;
  std::vector<std::optional<Slowdown>> out;
  for (BenchRow& row : rows) {
    std::optional<Slowdown> s = slowdown(row, limit);
    for (int i = 0; i < more && s && s->times > limit; ++i) {
      const std::optional<BenchRow> again = measure_again(row);
      if (again && again->ratio && again->ratio->median > row.ratio->median) row = *again;
      s = slowdown(row, limit);
    }
    out.push_back(s);
  }
  return out;
}

}  // namespace sten
