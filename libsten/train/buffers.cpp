#include "libsten/train/buffers.h"

#include <algorithm>
#include <set>

#include "libsten/base/text.h"
#include "libsten/nn/weights.h"
#include "libsten/train/own_memory.h"
#include "libsten/train/recipe_model.h"

namespace sten {
namespace {

constexpr std::string_view mean_end = ".running_mean", count_end = ".num_batches_tracked";

// Names that PyTorch's exporters make up, such as "onnx::Reshape_12" and "val_12".
bool is_generated(std::string_view name) {
  constexpr std::string_view val = "val_";
  return name.find("::") != std::string_view::npos ||
         (name.starts_with(val) &&
          name.find_first_not_of("0123456789", val.size()) == std::string_view::npos);
}

// Heads of a BERT that another head has replaced.
bool is_replaced(const Recipe& r, std::string_view name) {
  return r.model.kind == "bert" && head_of(r.data) != BertHead::words &&
         !name.ends_with(".position_ids");
}

}  // namespace

Buffers::Buffers(const Task& task) {
  const std::shared_ptr<const Checkpoint> file = task.first_checkpoint();
  if (!file) return;
  std::set<std::string_view> weights;
  for (const Weight& w : task.graph().weights()) {
    const std::vector<const CheckpointTensor*> entries = weight_entries(w, *file);
    for (const CheckpointTensor* t : entries) {
      weights.insert(t->name);
      if (entries.size() > 1 && t->name != w.name) further_names_.emplace(t->name, w.name);
    }
  }
  for (const CheckpointTensor& t : file->tensors())
    if (!weights.contains(t.name) && !is_generated(t.name) && !is_replaced(task.recipe(), t.name))
      values_.emplace(t.name, in_own_memory(file->load(t), Device::cpu));
  for (const RunningStatistics& s : task.graph().statistics()) {
    if (!s.mean.ends_with(mean_end)) continue;
    std::string count = s.mean.substr(0, s.mean.size() - mean_end.size());
    count += count_end;
    const auto at = values_.find(count);
    if (at != values_.end() && at->second.is<Dense>() && at->second.dtype() == DType::I64 &&
        size_of(at->second.shape()) == 1)
      counts_.push_back(std::move(count));
  }
}

NamedValues<Tensor> Buffers::after(Index batches, const NamedValues<Tensor>& weights) const {
  NamedValues<Tensor> all = values_;
  for (const std::string& name : counts_) {
    Tensor& count = all.find(name)->second;
    count = Tensor::update(std::move(count),
                           [&](Values& v) { v.mutate<std::int64_t>()[0] += batches; });
  }
  for (const auto& [name, weight] : further_names_) all.emplace(name, weights.find(weight)->second);
  return all;
}

}  // namespace sten
