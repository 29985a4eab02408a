// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/precision.h"

#include <algorithm>

#include "kernels/isa.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/hints.h"
#include "libsten/core/layout/nmgv.h"

namespace sten {

std::string precision_name(DType precision) {
  switch (precision) {
    case DType::BF16:
      return "bf16";
    case DType::F16:
      return "float16";
    case DType::I8:
      return "int8";
    default:
      return "float32";
  }
}

DType precision_from(std::string_view name) {
  for (const DType t : bench_precisions)
    if (name == precision_name(t)) return t;
  if (name == "f32") return DType::F32;
  if (name == "f16") return DType::F16;
  if (name == "bfloat16") return DType::BF16;
  fail_usage("--precision: {}",
             unknown_name("precision", name, {"float32", "bf16", "float16", "int8"}));
}

bool multiplies(DType precision) {
  const kernels::Isa isa = kernels::active_isa();
  if (precision == DType::BF16) return isa >= kernels::Isa::avx512_bf16;
  if (precision == DType::I8) return isa >= kernels::Isa::amx;
  return precision == DType::F32;
}

AskedPrecisions::AskedPrecisions(const std::vector<std::string>& names,
                                 std::vector<std::string>& notes)
    : are_usual(names.empty()) {
  if (are_usual) {
    if (multiplies(DType::BF16))
      dense.push_back(DType::BF16);
    else
      notes.push_back(fmt::format("dense in bf16 is not measured: {} does not multiply it",
                                  kernels::name_of(kernels::active_isa())));
    return;
  }
  layouts.clear();
  for (const std::string& name : names) {
    const DType p = precision_from(name);
    if (std::ranges::count(layouts, p)) continue;
    layouts.push_back(p);
    if (p != DType::F32) dense.push_back(p);
  }
}

std::vector<StepPrecision> step_precisions(const std::vector<std::string>& names) {
  using kernels::Factors;
  const std::vector<StepPrecision> known{
      {"float32", Factors::float32}, {"tf32", Factors::tf32}, {"bf16", Factors::bfloat16}};
  if (names.empty()) return {known.front()};
  std::vector<StepPrecision> all;
  for (const std::string& name : names) {
    const std::string usual = name == "f32" ? "float32" : name == "bfloat16" ? "bf16" : name;
    const auto at = std::ranges::find(known, usual, &StepPrecision::name);
    if (at == known.end())
      fail_usage("--precision: {}", unknown_name("precision of a step on a device", name,
                                                 {"float32", "tf32", "bf16"}));
    if (!std::ranges::count(all, usual, &StepPrecision::name)) all.push_back(*at);
  }
  return all;
}

bool AskedPrecisions::has_dense(DType precision) const {
  return std::ranges::count(dense, precision) > 0;
}

bool AskedPrecisions::has(DType precision, const Spec& layout) const {
  if (are_usual && precision == DType::BF16) return has_dense(precision) && layout.is(Nmgv::name);
  return std::ranges::count(layouts, precision) > 0;
}

}  // namespace sten
