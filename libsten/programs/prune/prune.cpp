// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/prune/prune.h"

#include "libsten/core/base/cuda.h"
#include "libsten/core/base/fallback.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/sparsify/scored.h"
#include "libsten/files/checkpoint/mask_file.h"
#include "libsten/files/checkpoint/output_name.h"
#include "libsten/files/checkpoint/output_paths.h"
#include "libsten/files/system/lack_of_memory.h"
#include "libsten/files/system/paths.h"
#include "libsten/programs/calibrated/layers_of_file.h"
#include "libsten/programs/calibrated/layers_of_model.h"
#include "libsten/programs/plan/sparse_input.h"
#include "libsten/programs/prune/choose_mask.h"
#include "libsten/programs/prune/global_threshold.h"
#include "libsten/programs/prune/prune_report.h"

namespace sten {
namespace {

// The files with masks to apply.
struct GivenMasks {
  std::optional<Checkpoint> all;     // of all tensors
  std::optional<Checkpoint> so_far;  // of the tensors that earlier stages pruned

  // The file with the mask of a tensor; nullptr if a sparsifier chooses the mask.
  const Checkpoint* of(const TensorPlan& how) const {
    if (all) return &*all;
    return how.sparsifier.is("same-pattern") ? &*so_far : nullptr;
  }
};

std::optional<Checkpoint> opened(const std::string& path) {
  if (path.empty()) return std::nullopt;
  return Checkpoint::open(path);
}

// The file of --mask-out, opened before the input is read, to fail early: a dry run only checks that
// it could be written. A pipe is opened last, since opening waits for its reader.
std::unique_ptr<OutputFile> open_mask_out(const PruneFiles& files, const std::string& input,
                                          const OutputOptions& output) {
  if (files.mask_out.empty()) return nullptr;
  check_outputs(
      {{"", input}, {"--mask", files.mask}, {"--scores", files.scores}, {"--rules", files.rules}},
      {{"-o", output.path}, {"--mask-out", files.mask_out}});
  check_output_name(files.mask_out, Written::masks);
  if (is_stream(files.mask_out)) return nullptr;
  return std::make_unique<OutputFile>(files.mask_out, output.force);
}

// The tensors of a plan that are pruned with calibration.
std::vector<CalibratedWeight> calibrated_weights(const PrunePlan& plan, const Checkpoint& in,
                                                 const TensorOptions& o,
                                                 std::optional<double> damping) {
  std::vector<CalibratedWeight> weights;
  for (const std::size_t i : plan.order) {
    const TensorPlan& how = *plan.tensors[i];
    if (!how.calibrated) continue;
    const CheckpointTensor& t = in.tensors()[i];
    if (t.is_sparse())
      fail_usage("{}: {}: calibration expected a dense tensor, got a sparse one", in.name(),
                 quote(t.name));
    CalibratedOptions by{name_of(o.method), how.sparsifier, how.by_row, plan.transposed[i],
                         o.reconstruct};
    by.damping = damping.value_or(by.damping);
    weights.push_back({&t, std::move(by)});
  }
  return weights;
}

// Sets the permutations of first weights. Before any tensor changes, since the next weight may come
// first in the file.
void find_permutations(const PrunePlan& plan, const WeightReader& reader, Reordering& reordering) {
  for (const std::size_t i : reordering.firsts())
    reader.visit(i, [&](const Dense& x, const Dense* scores) {
      const TensorPlan& how = *plan.tensors[i];
      reordering.set(
          i, with_tensor_name(reader.input().name(), reader.input().tensors()[i].name, [&] {
            const Dense ranks =
                how.by_gradient ? gradient_ranks(x, *scores, ranks_are_wide(x, *scores)) : x;
            return row_permutation(ranks, NmgvFit::make(how.sparsifier));
          }));
    });
}

// Pruning of one checkpoint.
class Pruning {
 public:
  explicit Pruning(const PruneRequest& request)
      : request_(request),
        device_(use_device(request.options().device)),
        mask_file_(open_mask_out(request.options().files, request.options().input,
                                 request.options().output)),
        rewrite_(request.options().input, request.options().output, "sten-prune",
                 request.options().stage.provenance.value_or(request.values())) {
    const auto& o = request.options();
    if (!o.stage.metadata_of.empty()) rewrite_.add_metadata(Checkpoint::open(o.stage.metadata_of));
    masks_.all = opened(o.files.mask);
    plan_ = plan_of(request, in(), masks_.all ? &*masks_.all : nullptr);
    masks_.so_far = opened(o.stage.masks_so_far);
    narrow(plan_, in(), o.stage.only, masks_.so_far ? &*masks_.so_far : nullptr);
    reader_.emplace(in(), plan_, reordering_, o.tensors.nan, o.files.scores);
    reordering_ = Reordering(request.reorder(), in(), o.input, plan_.tensors);
    rewrite_.check(plan_.layouts(reordering_));
    summary_.emplace(request, rewrite_, plan_);
  }

  Outcome run() {
    find_tied(plan_, in(), reordering_);
    find_permutations(plan_, *reader_, reordering_);
    threshold_.emplace(plan_, request_.options().tensors.sparsity.value_or(0), *reader_);
    begin_masks();
    calibrate();
    rewrite_.run(plan_.layouts(reordering_), request_.options().show_progress, [&](std::size_t i) {
      return or_lack_of_memory(in().name(), in().tensors()[i].name, [&] { return change(i); });
    });
    if (mask_out_) mask_out_->finish();
    return finish();
  }

 private:
  const Checkpoint& in() const { return rewrite_.input(); }

  void begin_masks() {
    const auto& o = request_.options();
    if (o.files.mask_out.empty() || o.output.dry_run) return;
    if (!mask_file_) mask_file_ = std::make_unique<OutputFile>(o.files.mask_out, o.output.force);
    std::vector<TensorInfo> infos;
    for (std::size_t i = 0; i < plan_.tensors.size(); ++i)
      if (plan_.tensors[i]) infos.push_back(in().tensors()[i]);
    mask_out_.emplace(*mask_file_, infos);
  }

  // Before the first tensor is written, since the model's order is not that of the file.
  void calibrate() {
    std::vector<CalibratedWeight> weights = calibrated_weights(
        plan_, in(), request_.options().tensors, request_.options().calibration.damping);
    if (weights.empty()) return;
    if (device_ != Device::cpu) report_on_cpu("calibration", device_);
    const CalibrationOptions& how = request_.options().calibration;
    const CalibrationRequest request{
        how,
        request_.options().input,
        request_.options().tensors.sparsity.value_or(0),
        std::move(weights),
        in(),
        reordering_,
        [&](const TensorInfo& t) {
          return reader_->load(static_cast<std::size_t>(in().find(t.name) - in().tensors().data()));
        },
        request_.options().show_progress};
    layers_ = how.statistics.empty() ? layers_of_model(request) : layers_of_file(request);
  }

  // The device that prunes a tensor.
  Device device_for(const TensorPlan& how) const {
    if (device_ == Device::cpu) return device_;
    const char* what = how.global         ? "one threshold for several tensors"
                       : how.needs_scores ? "scores"
                       : request_.options().tensors.nan == Nan::keep ? "--nan keep"
                                                                     : nullptr;
    if (!what) return device_;
    report_on_cpu(what, device_);
    return Device::cpu;
  }

  Tensor change(std::size_t i) {
    const CheckpointTensor& t = in().tensors()[i];
    if (!plan_.tensors[i])  // only permuted
      return reordering_.moved(i, in().load(t).to_dense());
    const TensorPlan& how = *plan_.tensors[i];
    if (layers_ && how.calibrated)
      return with_tensor_name(in().name(), t.name, [&] { return change_calibrated(i); });
    const Dense x = reader_->load(i, device_for(how));
    // Tied tensors share the mask of the first one.
    const PrunedTensor pruned =
        reader_->with_scores(how.global ? plan_.first[i] : i, [&](const Dense* scores) {
          // Errors of mask files do not name this tensor.
          if (const Checkpoint* masks = masks_.of(how))
            return PrunedTensor{read_mask(*masks, t).to(x.device())};
          return with_tensor_name(in().name(), t.name, [&] {
            return choose_mask(in(), plan_, i, *threshold_, request_.options().tensors, x, scores);
          });
        });
    if (mask_out_) mask_out_->add(t.name, pruned.keep.to(Device::cpu));
    return with_tensor_name(in().name(), t.name, [&] { return change_by_mask(i, x, pruned); });
  }

  Tensor change_calibrated(std::size_t i) {
    const CheckpointTensor& t = in().tensors()[i];
    const Dense x = reader_->load(i);
    CalibratedLayer layer = layers_->prune(t, x);
    if (mask_out_) mask_out_->add(t.name, layer.mask);
    std::optional<Tensor> after;
    if (layer.weights.size() != x.size()) {
      after = change_by_mask(i, x, {std::move(layer.mask)});
    } else {
      after = registry().pack(layer.weights, layer.mask, plan_.tensors[i]->to);
      summary_->add(i, x, layer.mask, *after, measure_kept(x, layer.mask).magnitudes,
                    measure_kept(layer.weights, layer.mask).zeros);
    }
    summary_->add_errors(i, layer.error_before, layer.error);
    return *std::move(after);
  }

  // The tensor after masking.
  Tensor change_by_mask(std::size_t i, const Dense& x, const PrunedTensor& pruned) {
    const Mask& keep = pruned.keep;
    const Spec& to = plan_.tensors[i]->to;
    const bool keeps_nan = request_.options().tensors.nan == Nan::keep;
    if (to.is(Dense::name) && !keeps_nan) {
      MaskedDense masked = mask_and_measure(x, keep);
      const Tensor after = std::move(masked.values);
      summary_->add(i, x, keep, after, masked.magnitudes, masked.zeros);
      return after.to(Device::cpu);
    }
    const Tensor after = pruned.tensor ? *pruned.tensor : registry().pack(x, keep, to);
    KeptMeasure m = measure_kept(x, keep);
    // Infinities would hide all other values.
    if (keeps_nan) m.magnitudes = finite_magnitudes(x, keep);
    summary_->add(i, x, keep, after, m.magnitudes, m.zeros);
    return after.to(Device::cpu);
  }

  Outcome finish() {
    Outcome outcome{summary_->finish(threshold_->counts(), reordering_), std::nullopt,
                    skipped_rows(in(), plan_.why)};
    if (layers_)
      for (std::string& note : layers_->notes())
        outcome.report.notes.insert(outcome.report.notes.begin() + 1, std::move(note));
    const double kept = summary_->kept_energy();
    if (request_.options().min_energy && !(kept >= *request_.options().min_energy)) {
      outcome.failure = Error(
          Fault::check, fmt::format("energy {:.6f} is below --min-energy {} (nothing was written)",
                                    kept, *request_.options().min_energy));
      return outcome;
    }
    const auto size = static_cast<Index>(rewrite_.commit(mask_out_ ? mask_file_.get() : nullptr));
    if (!request_.options().output.dry_run) {
      summary_->add_file(outcome.report, size);
      if (layers_) layers_->finish();
    }
    return outcome;
  }

  const PruneRequest& request_;
  const Device device_;
  std::unique_ptr<OutputFile> mask_file_;
  Rewrite rewrite_;
  GivenMasks masks_;
  PrunePlan plan_;
  Reordering reordering_;
  std::optional<WeightReader> reader_;
  std::optional<GlobalThreshold> threshold_;
  std::unique_ptr<LayerSource> layers_;
  std::optional<MaskWriter> mask_out_;
  std::optional<PruneSummary> summary_;
};

}  // namespace

Outcome prune(const PruneRequest& request) { return Pruning(request).run(); }

}  // namespace sten
