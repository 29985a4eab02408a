#include "libsten/base/error.h"
#include "libsten/base/hash.h"
#include "libsten/base/text.h"
#include "libsten/data/arrays.h"
#include "libsten/data/batches.h"
#include "libsten/data/csv.h"
#include "libsten/train/data.h"
#include "libsten/train/example_columns.h"

namespace sten {
namespace {

class ExampleData final : public TaskData {
 public:
  ExampleData(const Recipe& r, ExampleColumns columns)
      : columns_(std::move(columns)), accumulate_(r.accumulate) {
    for (const ExampleColumn& c : columns_.inputs)
      content_ = hash_bytes(content_, c.values.values.bytes());
    content_ = hash_bytes(content_, columns_.labels.values.bytes());
    const Index n = columns_.labels.extents.front();
    const Split split = split_rows(n, r.data.train, r.data.validation, r.data.split_seed);
    if (split.train.empty()) fail_usage("the train split of {} rows is empty; see data.train", n);
    train_.emplace(split.train, r.batch, r.seed, true);
    const std::vector<Index>* rows[] = {&split.train, &split.validation, &split.test};
    for (std::size_t s = 0; s < 3; ++s)
      if (!rows[s]->empty()) measured_[s].emplace(*rows[s], r.evaluation.batch, r.seed, false);
  }

  Index steps_per_epoch() const override { return train_->per_epoch(); }

  std::vector<BatchPart> batch(Index step) const override {
    const std::vector<Index> all = train_->at(step);
    const Index n = std::ssize(all);
    std::vector<BatchPart> parts;
    for (Index k = 0; k < accumulate_; ++k) {
      const Index begin = n * k / accumulate_, end = n * (k + 1) / accumulate_;
      if (begin == end) continue;
      BatchPart part = columns_.part(std::span(all).subspan(begin, end - begin));
      if (part.predictions > 0) parts.push_back(std::move(part));
    }
    return parts;
  }

  Index parts(DataSplit s) const override {
    const auto& rows = measured_[static_cast<std::size_t>(s)];
    return rows ? rows->per_epoch() : 0;
  }
  BatchPart part(DataSplit s, Index i) const override {
    return columns_.part(measured_[static_cast<std::size_t>(s)]->at(0, i));
  }
  std::uint64_t content() const override { return content_; }

 private:
  ExampleColumns columns_;
  Index accumulate_;
  std::uint64_t content_ = 0;
  // They remember the order of an epoch.
  mutable std::optional<RowBatches> train_, measured_[3];
};

CsvOptions csv_options(const Recipe& r) {
  CsvOptions o;
  if (r.data.label == "first") o.label = "1";
  if (r.data.label != "first" && r.data.label != "last") o.label = r.data.label;
  return o;
}

}  // namespace

std::shared_ptr<TaskData> read_example_data(const Recipe& r) {
  const bool is_csv = r.data.kind == "csv";
  const Examples all =
      is_csv ? read_csv(r.data.file, csv_options(r)) : read_arrays(r.data.features, r.data.labels);
  const std::string features = printable(is_csv ? r.data.file : r.data.features);
  const std::string labels = printable(is_csv ? r.data.file : r.data.labels);
  const Index width = all.features.size() / all.count();
  if (width != r.model.sizes.front())
    fail("{}: a row has {} features, and the model takes {}; see model.sizes", features, width,
         r.model.sizes.front());
  if (all.classes() > r.model.sizes.back())
    fail("{}: there are labels up to {}, and the model tells {} classes apart; see model.sizes",
         labels, all.classes() - 1, r.model.sizes.back());
  ExampleColumns columns{{}, "labels", all.labels};
  columns.inputs.push_back({"x", all.features, {0, width}, ExampleScale::of(r.data)});
  return std::make_shared<ExampleData>(r, std::move(columns));
}

std::shared_ptr<TaskData> read_example_data(const Recipe& r, const ImportedModel& m) {
  if (r.data.kind != "csv") {
    ExampleColumns columns = imported_columns(r.data, m, read_array(r.data.labels));
    return std::make_shared<ExampleData>(r, std::move(columns));
  }
  const Examples all = read_csv(r.data.file, csv_options(r));
  return std::make_shared<ExampleData>(r, imported_columns(r.data, m, all.labels, &all.features));
}

}  // namespace sten
