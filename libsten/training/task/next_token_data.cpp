#include "libsten/core/base/error.h"
#include "libsten/data/text_windows.h"
#include "libsten/model/nn/gpt.h"
#include "libsten/training/task/data.h"
#include "libsten/training/task/window_data.h"

namespace sten {
namespace {

BatchPart next_tokens(const TextBatch& b) {
  NamedValues<Tensor> in = gpt_inputs(b.ids);
  in.emplace("labels", b.next);
  return {std::move(in), b.next.size()};
}

}  // namespace

std::shared_ptr<TaskData> read_next_token_data(const Recipe& r, Index vocabulary, Index positions) {
  const auto ids = recipe_tokenizer(r, vocabulary, "the model's vocab_size is");
  if (r.data.window > positions)
    fail_usage("data.window {} is above n_positions {} of the model", r.data.window, positions);
  const Array<TokenId> text = read_text(r.data.text, *ids);
  const TextWindowsOptions training{r.data.window, r.batch / r.accumulate, r.seed, true};
  const auto open = [&](Index begin, Index end, const TextWindowsOptions& o) {
    return TextWindows(text, begin, end, o);
  };
  return std::make_shared<WindowData<TextWindows>>(r, text, r.data.window + 1, training, r.seed,
                                                   open, next_tokens);
}

}  // namespace sten
