#include "libsten/programs/prune/prune.h"

#include "libsten/core/base/cuda.h"
#include "libsten/core/base/fallback.h"
#include "libsten/core/base/log.h"
#include "libsten/core/base/random.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/sparsify/scored.h"
#include "libsten/files/checkpoint/mask_file.h"
#include "libsten/files/checkpoint/output_name.h"
#include "libsten/files/checkpoint/output_paths.h"
#include "libsten/files/system/lack_of_memory.h"
#include "libsten/files/system/paths.h"
#include "libsten/programs/calibrated/layer_source.h"
#include "libsten/programs/plan/global_magnitude.h"
#include "libsten/programs/plan/global_ranks.h"
#include "libsten/programs/plan/reorder.h"
#include "libsten/programs/plan/score_file.h"
#include "libsten/programs/plan/sparse_input.h"
#include "libsten/programs/prune/prune_report.h"
#include "libsten/programs/rewrite/axis.h"
#include "libsten/programs/rewrite/tied.h"

namespace sten {
namespace {

// Pruning of one checkpoint.
class Pruning {
 public:
  Pruning(const PruneOptions& o, const PruneRequest& request)
      : o_(o),
        request_(request),
        device_(use_device(o.device)),
        mask_file_(open_mask_out(o)),
        rewrite_(o.input, o.output, "sten-prune", o.provenance.value_or(request.values())) {
    if (!o.metadata_of.empty()) rewrite_.add_metadata(Checkpoint::open(o.metadata_of));
    if (!o.mask.empty()) masks_ = Checkpoint::open(o.mask);
    plans_ = request.plans(in(), masks_ ? &*masks_ : nullptr);
    transposed_ = in_by_out(in(), o.input);
    follow_use();
    narrow();
    for (std::size_t i = 0; i < plans_.tensors.size(); ++i)
      if (plans_.tensors[i]) order_.push_back(i);
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return natural_less(in().tensors()[a].name, in().tensors()[b].name);
    });
    if (!o.scores.empty()) scores_.emplace(o.scores);
    for (const std::size_t i : order_)
      if (plans_.tensors[i]->needs_scores) scores_->check(in().tensors()[i]);
    layouts_.resize(plans_.tensors.size());
    for (const std::size_t i : order_) layouts_[i] = plans_.tensors[i]->to;
    reordering_ = Reordering(o.reorder, in(), o.input, plans_.tensors);
    for (std::size_t i = 0; i < layouts_.size(); ++i)
      if (!layouts_[i] && reordering_.moves(i)) layouts_[i] = Spec(Dense::name);
    rewrite_.check(layouts_);
    summary_.emplace(o, request, rewrite_, plans_, transposed_);
  }

  Outcome run() {
    find_tied();
    find_permutations();
    try {
      find_global();
    } catch (const std::bad_alloc&) {
      fail("{}: out of memory for one threshold of {} tensors", in().name(), union_.size());
    }
    if (!o_.mask_out.empty() && !o_.output.dry_run) {
      if (!mask_file_) mask_file_ = std::make_unique<OutputFile>(o_.mask_out, o_.output.force);
      std::vector<TensorInfo> infos;
      for (std::size_t i = 0; i < plans_.tensors.size(); ++i)
        if (plans_.tensors[i]) infos.push_back(in().tensors()[i]);
      mask_out_.emplace(*mask_file_, infos);
    }
    calibrate();
    rewrite_.run(layouts_, o_.show_progress, [&](std::size_t i) {
      return or_lack_of_memory(in().name(), in().tensors()[i].name, [&] { return change(i); });
    });
    if (mask_out_) mask_out_->finish();
    return finish();
  }

 private:
  const Checkpoint& in() const { return rewrite_.input(); }

  // By default, n:m and n:m:g run along the inputs of a layer.
  void follow_use() {
    for (std::size_t i = 0; i < plans_.tensors.size(); ++i) {
      auto& how = plans_.tensors[i];
      if (!how) continue;
      const bool is_named = (axis_of(how->sparsifier) && !has_default_axis(how->sparsifier)) ||
                            (axis_of(how->to) && !has_default_axis(how->to));
      how->sparsifier = for_matrix(how->sparsifier, transposed_[i] && !is_named);
      how->to = for_matrix(how->to, transposed_[i] && !is_named);
    }
  }

  // A dry run only checks that the file could be written. A pipe is opened last, since opening
  // waits for its reader.
  static std::unique_ptr<OutputFile> open_mask_out(const PruneOptions& o) {
    if (o.mask_out.empty()) return nullptr;
    std::vector<NamedPath> inputs = {
        {"", o.input}, {"--mask", o.mask}, {"--scores", o.scores}, {"--rules", o.rules_file}};
    check_outputs(inputs, {{"-o", o.output.path}, {"--mask-out", o.mask_out}});
    check_output_name(o.mask_out, Written::masks);
    if (is_stream(o.mask_out)) return nullptr;
    return std::make_unique<OutputFile>(o.mask_out, o.output.force);
  }

  // Restricts the run to `only` and the tensors with masks.
  void narrow() {
    if (!o_.masks_so_far.empty()) so_far_ = Checkpoint::open(o_.masks_so_far);
    for (std::size_t i = 0; i < plans_.tensors.size(); ++i) {
      auto& how = plans_.tensors[i];
      if (!how) continue;
      const std::string& name = in().tensors()[i].name;
      if (so_far_ && so_far_->find(name))
        *how = TensorPlan{Spec("same-pattern"), how->to, false};
      else if (!o_.only.empty() && name != o_.only)
        how.reset();
    }
    plans_.chosen = std::count_if(plans_.tensors.begin(), plans_.tensors.end(),
                                  [](const auto& t) { return t.has_value(); });
  }

  void find_tied() {
    first_ = first_equals(in(), order_);
    for (const std::size_t i : order_)
      if (first_[i] != i)
        tied_.push_back(fmt::format("{} and {}", quote(in().tensors()[first_[i]].name),
                                    quote(in().tensors()[i].name)));
    // Permuted tensors share no mask.
    for (const std::size_t i : order_)
      if (reordering_.moves(i) || reordering_.moves(first_[i])) first_[i] = i;
  }

  // The values to rank, in their final order and with NaN and infinity replaced by the policy.
  // Unless zeroed, NaN and infinity rank above all numbers, as their bits do.
  Dense load(std::size_t i, Device device = Device::cpu) const {
    if (device != Device::cpu && reordering_.moves(i)) return load(i).to(device);
    const Dense x = load_permuted(i, device);
    Dense moved = reordering_.moved(i, x);
    const bool is_copy = moved.values.bytes().data() != x.values.bytes().data();
    if (is_copy) in().drop(in().tensors()[i]);
    return moved;
  }

  Dense load_permuted(std::size_t i, Device device) const {
    const CheckpointTensor& t = in().tensors()[i];
    Dense x = in().load(t).to_dense().to(device);
    if (const auto bad = first_not_finite(x)) {
      if (request_.nan() == Nan::error)
        fail("{}: {}: element {} is not finite and cannot be ranked (see --nan)", in().name(),
             quote(t.name), *bad);
      if (request_.nan() == Nan::zero) return Dense::pack(x, finite_mask(x));
    }
    return x;
  }

  // Calls f(scores of tensor i), or f(nullptr) without scores.
  template <class F>
  auto with_scores(std::size_t i, F&& f) const {
    if (!plans_.tensors[i]->needs_scores) return f(static_cast<const Dense*>(nullptr));
    const Dense scores = reordering_.moved(i, scores_->read(in().tensors()[i]));
    struct Drop {
      const ScoreFile& file;
      const TensorInfo& t;
      ~Drop() { file.drop(t); }
    } drop{*scores_, in().tensors()[i]};
    return f(&scores);
  }

  // Calls f(); adds tensor t to its errors.
  template <class F>
  auto of_tensor(const TensorInfo& t, F&& f) const {
    try {
      return f();
    } catch (const Error& e) {
      throw Error(e.fault(), fmt::format("{}: {}: {}", in().name(), quote(t.name), e.what()));
    }
  }

  // Before any tensor changes, since the next weight may come first in the file.
  void find_permutations() {
    for (const std::size_t i : reordering_.firsts()) {
      const CheckpointTensor& t = in().tensors()[i];
      or_lack_of_memory(in().name(), t.name, [&] {
        const TensorPlan& how = *plans_.tensors[i];
        const Dense x = load(i);
        with_scores(i, [&](const Dense* scores) {
          reordering_.set(
              i, of_tensor(t, [&] {
                const Dense ranks =
                    how.by_gradient ? gradient_ranks(x, *scores, ranks_are_wide(x, *scores)) : x;
                return row_permutation(ranks, NmgvFit::make(how.sparsifier));
              }));
        });
      });
      in().drop(t);
    }
  }

  // Tied tensors count once.
  void find_global() {
    for (const std::size_t i : order_)
      if (plans_.tensors[i]->global && first_[i] == i) union_.push_back(i);
    if (union_.empty()) return;
    const GlobalRanks::With with = [&](std::size_t k, const auto& f) {
      const CheckpointTensor& t = in().tensors()[union_[k]];
      or_lack_of_memory(in().name(), t.name, [&] {
        const Dense x = load(union_[k]);
        with_scores(union_[k], [&](const Dense* scores) { f(x, scores); });
      });
      in().drop(t);
    };
    ranks_.emplace(*plans_.tensors[union_[0]], *o_.sparsity, union_.size(), with);
    global_.emplace(
        union_.size(),
        [&](std::size_t k, const std::function<void(const Dense&)>& f) {
          with(k, [&](const Dense& x, const Dense* scores) { f(ranks_->of(x, scores)); });
        },
        *o_.sparsity);
    place_.resize(plans_.tensors.size());
    for (std::size_t k = 0; k < union_.size(); ++k) place_[union_[k]] = k;
  }

  // Before the first tensor is written, since the model's order is not that of the file.
  void calibrate() {
    std::vector<CalibratedWeight> weights;
    for (const std::size_t i : order_) {
      const TensorPlan& how = *plans_.tensors[i];
      if (!how.calibrated) continue;
      const CheckpointTensor& t = in().tensors()[i];
      if (t.is_sparse())
        fail_usage("{}: {}: calibration expected a dense tensor, got a sparse one", in().name(),
                   quote(t.name));
      CalibratedOptions by{name_of(o_.method), how.sparsifier, how.by_row, transposed_[i],
                           o_.reconstruct};
      by.damping = o_.calibration.damping.value_or(by.damping);
      weights.push_back({&t, std::move(by)});
    }
    if (weights.empty()) return;
    if (device_ != Device::cpu) report_on_cpu("calibration", device_);
    layers_ = layer_source(
        {o_.calibration, o_.input, o_.sparsity.value_or(0), std::move(weights), in(), reordering_,
         [&](const TensorInfo& t) {
           return load(static_cast<std::size_t>(in().find(t.name) - in().tensors().data()));
         }});
  }

  Tensor change_calibrated(std::size_t i) {
    const CheckpointTensor& t = in().tensors()[i];
    try {
      const Dense x = load(i);
      CalibratedLayer layer = layers_->prune(t, x);
      if (mask_out_) mask_out_->add(t.name, layer.mask);
      if (layer.weights.size() != x.size()) {
        Tensor after = change_by_mask(i, x, {std::move(layer.mask), {}});
        summary_->add_errors(i, layer.error_before, layer.error);
        return after;
      }
      const Tensor after = registry().pack(layer.weights, layer.mask, plans_.tensors[i]->to);
      summary_->add(i, x, layer.mask, after, measure_kept(x, layer.mask).magnitudes,
                    measure_kept(layer.weights, layer.mask).zeros);
      summary_->add_errors(i, layer.error_before, layer.error);
      return after;
    } catch (const Error& e) {
      throw Error(e.fault(), fmt::format("{}: {}: {}", in().name(), quote(t.name), e.what()));
    }
  }

  struct Pruned {
    Mask keep;
    std::optional<Tensor> tensor;  // if choosing and packing were one step
  };

  // The file with the mask of tensor i; nullptr if the mask is chosen by a sparsifier.
  const Checkpoint* masks_for(std::size_t i) const {
    if (masks_) return &*masks_;
    return plans_.tensors[i]->sparsifier.is("same-pattern") ? &*so_far_ : nullptr;
  }

  Pruned choose(std::size_t i, const Dense& x, const Dense* scores) const {
    const CheckpointTensor& t = in().tensors()[i];
    const TensorPlan& how = *plans_.tensors[i];
    const std::optional<Mask> stored_mask = where_stored(in(), t, x, how.sparsifier);
    if (how.global) {
      Mask keep =
          ranks_->expand(x.extents, global_->select(place_[first_[i]], ranks_->of(x, scores)));
      return {stored_mask ? both(std::move(keep), *stored_mask) : std::move(keep), {}};
    }
    Spec spec = how.sparsifier;
    // 63 bits, since a spec's integers are signed.
    if (how.has_seed) spec.set("seed", static_cast<Index>(seed_for(o_.seed, t.name) >> 1));
    if (how.by_gradient)
      return {registry().sparsifier(spec).select(
                  gradient_ranks(x, *scores, ranks_are_wide(x, *scores))),
              {}};
    const Hints hints{nullptr, scores, nullptr};
    // Sparsifiers that ignore magnitudes, which would rank NaN and infinity above all numbers.
    const bool blind = request_.nan() == Nan::keep && (spec.is("random") || spec.is("relu"));
    Pruned p;
    if (!blind && !how.to.is(Dense::name) && !stored_mask) {
      p.tensor = registry().prune(x, spec, how.to, hints, &p.keep);
      return p;
    }
    p.keep = stored_mask && scores && spec.has("sparsity")
                 ? select_stored(x, *scores, *stored_mask, spec)
                 : registry().sparsifier(spec).select(x, hints);
    const Mask finite = blind ? finite_mask(x) : Mask();
    for (Index k = 0; blind && k < x.size(); ++k)
      if (!finite[k]) p.keep.set(k, true);
    if (stored_mask) p.keep = both(std::move(p.keep), *stored_mask);
    return p;
  }

  // The device that prunes a tensor.
  Device device_for(std::size_t i) const {
    if (device_ == Device::cpu) return device_;
    const TensorPlan& how = *plans_.tensors[i];
    const char* what = how.global                    ? "one threshold for several tensors"
                       : how.needs_scores            ? "scores"
                       : request_.nan() == Nan::keep ? "--nan keep"
                                                     : nullptr;
    if (!what) return device_;
    report_on_cpu(what, device_);
    return Device::cpu;
  }

  Tensor change(std::size_t i) {
    if (!plans_.tensors[i])  // only permuted
      return reordering_.moved(i, in().load(in().tensors()[i]).to_dense());
    if (layers_ && plans_.tensors[i]->calibrated) return change_calibrated(i);
    const Dense x = load(i, device_for(i));
    // Tied tensors share the mask of the first one.
    return with_scores(plans_.tensors[i]->global ? first_[i] : i,
                       [&](const Dense* scores) { return change(i, x, scores); });
  }

  Tensor change(std::size_t i, const Dense& x, const Dense* scores) {
    const CheckpointTensor& t = in().tensors()[i];
    // Errors of mask files do not name this tensor.
    const Checkpoint* masks = masks_for(i);
    const Pruned pruned = masks ? Pruned{read_mask(*masks, t).to(x.device()), {}}
                                : of_tensor(t, [&] { return choose(i, x, scores); });
    if (mask_out_) mask_out_->add(t.name, pruned.keep.to(Device::cpu));
    return of_tensor(t, [&] { return change_by_mask(i, x, pruned); });
  }

  // The tensor after masking.
  Tensor change_by_mask(std::size_t i, const Dense& x, const Pruned& pruned) {
    const Mask& keep = pruned.keep;
    if (plans_.tensors[i]->to.is(Dense::name) && request_.nan() != Nan::keep) {
      MaskedDense masked = mask_and_measure(x, keep);
      const Tensor after = std::move(masked.values);
      summary_->add(i, x, keep, after, masked.magnitudes, masked.zeros);
      return after.to(Device::cpu);
    }
    const Tensor after =
        pruned.tensor ? *pruned.tensor : registry().pack(x, keep, plans_.tensors[i]->to);
    KeptMeasure m = measure_kept(x, keep);
    // Infinities would hide all other values.
    if (request_.nan() == Nan::keep) m.magnitudes = finite_magnitudes(x, keep);
    summary_->add(i, x, keep, after, m.magnitudes, m.zeros);
    return after.to(Device::cpu);
  }

  Outcome finish() {
    std::optional<PruneSummary::Threshold> threshold;
    if (global_)
      threshold = PruneSummary::Threshold{global_->dropped(), global_->elements(),
                                          ranks_->of_blocks(), union_.size()};
    Outcome outcome{summary_->finish({order_, tied_, threshold, reordering_}), std::nullopt,
                    skipped_rows(in(), plans_.why)};
    if (layers_)
      for (std::string& note : layers_->notes())
        outcome.report.notes.insert(outcome.report.notes.begin() + 1, std::move(note));
    const double kept = summary_->kept_energy();
    if (o_.min_energy && !(kept >= *o_.min_energy)) {
      outcome.failure = Error(
          Fault::check, fmt::format("energy {:.6f} is below --min-energy {} (nothing was written)",
                                    kept, *o_.min_energy));
      return outcome;
    }
    const auto size = static_cast<Index>(rewrite_.commit(mask_out_ ? mask_file_.get() : nullptr));
    if (!o_.output.dry_run) summary_->add_file(outcome.report, size);
    return outcome;
  }

  const PruneOptions& o_;
  const PruneRequest& request_;
  const Device device_;
  std::unique_ptr<OutputFile> mask_file_;  // opened before the input is read, to fail early
  Rewrite rewrite_;
  std::optional<Checkpoint> masks_, so_far_;
  std::optional<ScoreFile> scores_;
  std::unique_ptr<LayerSource> layers_;
  PruneRequest::TensorPlans plans_;
  std::vector<bool> transposed_;  // per tensor: a matrix [in, out]
  Reordering reordering_;
  std::vector<std::size_t> order_;  // chosen tensors in natural order of names
  std::vector<std::size_t> first_;  // per tensor: the first of its equals
  std::vector<std::size_t> union_;  // tensors under a global threshold
  std::vector<std::size_t> place_;  // index of a tensor in union_
  std::optional<GlobalRanks> ranks_;
  std::optional<GlobalMagnitude> global_;
  std::vector<std::optional<Spec>> layouts_;  // of the chosen tensors
  std::optional<MaskWriter> mask_out_;
  std::vector<std::string> tied_;  // pairs of names
  std::optional<PruneSummary> summary_;
};

}  // namespace

Outcome prune(const PruneOptions& o) {
  const PruneRequest request(o);
  return Pruning(o, request).run();
}

}  // namespace sten
