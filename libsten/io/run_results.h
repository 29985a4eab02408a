// Names of what sten-train leaves in a directory beside the model.
#pragma once

namespace sten {

inline constexpr const char* run_manifest_name = "run.json";  // what of it the run wrote
inline constexpr const char* run_checkpoints_name = "checkpoints";
inline constexpr const char* run_metrics_name = "metrics.jsonl";
inline constexpr const char* run_summary_name = "summary.json";
inline constexpr const char* run_curve_name = "curve.svg";

}  // namespace sten
