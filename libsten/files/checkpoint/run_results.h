// SPDX-License-Identifier: Apache-2.0
// Names of files that sten-train writes.
#pragma once

namespace sten {

inline constexpr const char* run_manifest_name = "run.json";  // manifest of the run's files
inline constexpr const char* run_checkpoints_name = "checkpoints";
inline constexpr const char* run_metrics_name = "metrics.jsonl";
inline constexpr const char* run_model_name = "model.safetensors";
inline constexpr const char* run_summary_name = "summary.json";
inline constexpr const char* run_curve_name = "curve.svg";

}  // namespace sten
