// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/staged/staged_plan.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/checkpoint/gguf_companions.h"
#include "libsten/files/checkpoint/shards.h"
#include "libsten/files/checkpoint/weight_names.h"
#include "libsten/programs/plan/prune_plan.h"

namespace sten {
namespace {

void check_options(const StagedOptions& o, const Schedule& schedule) {
  const auto& p = o.prune;
  if (o.state.empty() && !p.output.dry_run) fail_usage("--schedule needs --state DIR");
  if (p.tensors.method != PruneMethod::magnitude || p.tensors.is_calibrated())
    fail_usage("--schedule needs --method magnitude, without --reconstruct");
  if (!p.reorder.empty()) fail_usage("--schedule and --reorder exclude each other");
  if (!p.files.mask.empty()) fail_usage("--schedule and --mask exclude each other");
  if (p.min_energy) fail_usage("--schedule and --min-energy exclude each other");
  if (p.output.keep_other_weights)
    fail_usage("--schedule and --keep-other-weights exclude each other");
  if (p.input == "-") fail_usage("--schedule: expected a file as input, got standard input");
  if (schedule.layerwise && p.tensors.scope == PruneScope::global)
    fail_usage("--schedule layer-wise and --scope global exclude each other");
  const RecoveryRule& r = o.recovery;
  if (!(r.tolerance >= 0)) fail_usage("--tolerance must be >= 0, got {}", r.tolerance);
  if (r.rounds < 1) fail_usage("--rounds must be >= 1, got {}", r.rounds);
  if (r.patience < 1) fail_usage("--patience must be >= 1, got {}", r.patience);
  if (!schedule.structures.empty() || schedule.layerwise) return;
  if (p.tensors.structure.name().starts_with("block"))
    fail_usage("--schedule: expected the structure unstructured, nm or nmg, got {}",
               quote(o.structures.front()));
  if (!p.tensors.structure.is("unstructured"))
    fail_usage(
        "--structure {} has a fixed sparsity (repeat --structure with --schedule iterative, one a "
        "stage)",
        o.structures.front());
}

}  // namespace

StagedPlan make_staged_plan(const StagedOptions& o) {
  StagedPlan plan{o, parse_schedule(o.schedule, o.prune.tensors.sparsity, o.structures)};
  check_options(o, plan.schedule);
  return plan;
}

void list_stages(StagedPlan& out) {
  const Checkpoint in = Checkpoint::open(out.options.prune.input);
  if (in.is_onnx())  // the files of stages are safetensors, without a graph
    fail_usage(
        "{}: --schedule does not support ONNX models (sten-convert --to dense writes "
        "safetensors)",
        in.name());
  // Neither do they have the metadata of a GGUF file, nor the configuration for one.
  const std::string& output = out.options.prune.output.path;
  if (is_gguf_name(output))
    fail_usage("{}: --schedule does not write GGUF (write safetensors, then use sten-convert)",
               printable(output));
  if (in.gguf() && has_gguf_companions(output))
    fail_usage(
        "{}: --schedule writes no configuration and tokenizer of a GGUF file (prune the directory "
        "that sten-convert {} -o DIR/ --to dense writes)",
        printable(output), in.name());
  const PrunePlan plan = plan_of(out.stage_options(out.last_stage()), in, nullptr);
  out.part_taken = in.part_taken();
  out.left_alone = left_alone(plan.why);
  out.skipped_rows = skipped_rows(in, plan.why);
  for (const std::size_t i : plan.order) {
    out.names.push_back(in.tensors()[i].name);
    out.elements += size_of(in.tensors()[i].shape);
  }
  if (in.index()) out.left = left_behind(*in.index());
  out.stages = out.schedule.layerwise ? out.names.size() : out.schedule.stages();
}

}  // namespace sten
