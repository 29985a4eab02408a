// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/error.h"
#include "libsten/data/text_documents.h"
#include "libsten/data/text_windows.h"
#include "libsten/model/nn/gpt.h"
#include "libsten/training/task/data.h"
#include "libsten/training/task/window_data.h"

namespace sten {
namespace {

BatchPart next_tokens(const TextBatch& b) {
  NamedValues<Tensor> in = gpt_inputs(b.ids);
  in.emplace("labels", b.next);
  return {std::move(in), b.counted};
}

TextSplits document_splits(const DataRecipe& d, const PackedDocuments& text) {
  TextSplits splits(d, text.tokens);
  for (Index& end : splits.ends) end = text.boundary(end);
  if (!d.completion_only_loss) return splits;
  splits.content = hash_bytes(splits.content, text.targets.bytes());
  for (const DataSplit s : {DataSplit::train, DataSplit::validation, DataSplit::test}) {
    const Index begin = splits.ends[static_cast<std::size_t>(s)],
                end = splits.ends[static_cast<std::size_t>(s) + 1];
    if (end - begin <= d.window) continue;  // no windows
    // The first token is not predicted, and evaluation omits the incomplete last window.
    const Index windows = (end - begin - 1) / d.window,
                last = s == DataSplit::train ? end : begin + windows * d.window + 1;
    if (text.counted(begin + 1, last) == 0)
      fail("{}: expected tokens of completions in the {} split, got none", text_name(d),
           name_of(s));
  }
  return splits;
}

}  // namespace

std::shared_ptr<TaskData> read_next_token_data(const Recipe& r, Index vocabulary, Index positions) {
  const DataRecipe& d = r.data;
  const auto ids = recipe_tokenizer(r, vocabulary, "the model's vocab_size is");
  if (d.window > positions)
    fail_usage("data.window {} is above n_positions {} of the model", d.window, positions);
  const PackedDocuments text = read_documents(d.text, *ids, {d.vocabulary, d.completion_only_loss});
  const TextWindowsOptions training{d.window, r.batch / r.accumulate, r.seed, true};
  const auto open = [&](Index begin, Index end, const TextWindowsOptions& o) {
    return TextWindows(text.tokens, begin, end, o, text.targets);
  };
  return std::make_shared<WindowData<TextWindows>>(r, document_splits(d, text), d.window + 1,
                                                   training, r.seed, open, next_tokens);
}

}  // namespace sten
