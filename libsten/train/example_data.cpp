#include "libsten/base/error.h"
#include "libsten/base/hash.h"
#include "libsten/base/text.h"
#include "libsten/data/arrays.h"
#include "libsten/data/batches.h"
#include "libsten/data/csv.h"
#include "libsten/train/data.h"

namespace sten {
namespace {

// Rows [begin, end) of a dense tensor.
template <class U>
Dense rows_of(const Dense& x, Index begin, Index end, Shape shape) {
  shape[0] = end - begin;
  const Index width = x.extents[0] ? x.size() / x.extents[0] : 0;
  Dense some{std::move(shape), Values::uninitialized(x.dtype(), (end - begin) * width)};
  std::ranges::copy(x.values.as<U>().subspan(begin * width, (end - begin) * width),
                    some.values.mutate<U>().begin());
  return some;
}

BatchPart part_of(const Examples& batch, Index begin, Index end, Index width) {
  const Dense x = rows_of<float>(batch.features, begin, end, {0, width});
  const Dense y = rows_of<std::int64_t>(batch.labels, begin, end, {0});
  return {{{"x", x}, {"labels", y}}, end - begin};
}

class ExampleData final : public TaskData {
 public:
  ExampleData(const Recipe& r, const Examples& all, Index width)
      : width_(width),
        accumulate_(r.accumulate),
        content_(
            hash_bytes(hash_bytes(0, all.features.values.bytes()), all.labels.values.bytes())) {
    const Split split = split_rows(all.count(), r.data.train, r.data.validation, r.data.split_seed);
    BatchOptions o{r.batch, r.seed, true, static_cast<float>(r.data.scale),
                   static_cast<float>(r.data.shift)};
    if (split.train.empty())
      fail_usage("the train split of {} rows is empty; see data.train", all.count());
    train_.emplace(all, split.train, o);
    o.shuffle = false;
    o.size = r.evaluation.batch;
    const std::vector<Index>* rows[] = {&split.train, &split.validation, &split.test};
    for (std::size_t s = 0; s < 3; ++s)
      if (!rows[s]->empty()) measured_[s].emplace(all, *rows[s], o);
  }

  Index steps_per_epoch() const override { return train_->per_epoch(); }

  std::vector<BatchPart> batch(Index step) const override {
    const Examples all = train_->at(step);
    std::vector<BatchPart> parts;
    for (Index k = 0; k < accumulate_; ++k) {
      const Index begin = all.count() * k / accumulate_, end = all.count() * (k + 1) / accumulate_;
      if (begin < end) parts.push_back(part_of(all, begin, end, width_));
    }
    return parts;
  }

  Index parts(DataSplit s) const override {
    const auto& rows = measured_[static_cast<std::size_t>(s)];
    return rows ? rows->per_epoch() : 0;
  }
  BatchPart part(DataSplit s, Index i) const override {
    const Examples all = measured_[static_cast<std::size_t>(s)]->at(0, i);
    return part_of(all, 0, all.count(), width_);
  }
  std::uint64_t content() const override { return content_; }

 private:
  Index width_, accumulate_;
  std::uint64_t content_;
  // They remember the order of an epoch.
  mutable std::optional<Batches> train_, measured_[3];
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
  return std::make_shared<ExampleData>(r, all, width);
}

}  // namespace sten
