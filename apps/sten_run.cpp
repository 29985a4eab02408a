// sten-run: flags -> RunOptions -> run_model().
#include "libsten/run/model/run_model.h"

#include "apps/main.h"
#include "libsten/base/memory_pool.h"

namespace groups = sten::app::groups;
constexpr const char *of_what = "What it runs on", *named_file = "[NAME=]FILE";

int main(int argc, char** argv) {
  const sten::app::Program program = {
      .name = "sten-run",
      .purpose = "Runs a model on data or arrays, measures it, checks it and times it.",
      .example = "sten-run run --min-accuracy 0.9",
      .examples = {{"What the model says of all rows, as an array, and how long that takes:",
                    "sten-run run --split all -o y.npy --repeats 20"},
                   {"The last step of a pipe; the recipe says what the weights are of:",
                    "sten-prune run/model.safetensors -o - --sparsity 0.5 | sten-run - --data "
                    "run/recipe.json --max-loss 1.5"},
                   {"Whether pruned weights say the same, which ends with 3 if they do not:",
                    "sten-run pruned.safetensors --against run --min-agreement 0.98"},
                   {"What a language model puts into blanks:",
                    "sten-run bert --fill 'To be, or n[MASK]t to be'"},
                   {"How a language model continues a text:",
                    "sten-run gpt --generate 100 --text 'To be, or ' --temperature 0.8"},
                   {"What runs in which layout, and what takes the time:",
                    "sten-run run --layouts '*.weight=csr' --explain"}},
      .detail = "the dense library that was chosen",
      .has_total = false,
      .environment = {
          {"STEN_CACHE",
           "The directory in which --layouts auto and --fail-if-slower cache the times of "
           "layouts "
           "(default: sten in XDG_CACHE_HOME, or ~/.cache/sten)."}}};
  return sten::app::run(program, argc, argv, [](CLI::App& app, const sten::app::Common& common) {
    auto o = std::make_shared<sten::RunOptions>();
    const auto list = [&](const char* name, auto& values, const char* type, const char* what) {
      return app.add_option(name, values, what)->type_name(type)->allow_extra_args(false);
    };
    app.add_option("MODEL", o->model,
                   "What sten-train left, a directory with config.json or graph.json, an ONNX "
                   "model; or weights alone (a file, or - for standard input), whose architecture "
                   "--config or the recipe of --data gives")
        ->required();
    list("--input", o->inputs, named_file,
         "An input of the model as .npy, or - for standard input; all of them as a safetensors "
         "file; repeatable. Token types, positions and masks of a model of text may be left out")
        ->group(of_what);
    app.add_option("--data", o->data,
                   "A recipe of sten-train, whose data are taken, a .csv file, a text or a folder "
                   "of images (default: the data that the model was trained on)")
        ->type_name("PATH")
        ->group(of_what);
    app.add_option("--split", o->split,
                   "Which of the data: test, validation, train or all (default: the first of these "
                   "that a recipe's data have; all of another file)")
        ->type_name("SPLIT")
        ->check(CLI::IsMember({"test", "validation", "train", "all"}))
        ->group(of_what);
    app.add_option("--labels", o->labels,
                   "Classes of the rows of --input as .npy, -100 where none counts: for loss and "
                   "accuracy of the first output")
        ->type_name("FILE")
        ->group(of_what);
    app.add_option("--config", o->config,
                   "What MODEL is that is weights alone: a config.json, a recipe, a graph or an "
                   "ONNX model")
        ->type_name("FILE")
        ->group(of_what);
    app.add_option("--batch", o->batch,
                   "Rows that are computed at once (default: all of --input; as many as the recipe "
                   "evaluates at once)")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 30))
        ->group(of_what);
    list("-o,--output", o->outputs, named_file,
         "An output as .npy, or - for standard output; all of them as a safetensors file; "
         "repeatable. NAME= may be left out if the model has one output")
        ->group(groups::common);
    app.add_option("--against", o->against,
                   "Another model: largest and mean difference of the outputs, how many rows have "
                   "the same top class, and the KL divergence from it")
        ->type_name("MODEL")
        ->group(groups::common);
    list("--layouts", o->layouts, "RULE",
         "The layout that weights are in when they are multiplied: PATTERN=SPEC, such as "
         "'*.weight=csr', or auto: of each weight the fastest layout here, measured once and kept "
         "in a cache; repeatable, the first match counts. Default: as the file has them")
        ->group(groups::common);
    list("--precision", o->precision, "RULE",
         "What nodes compute with, and keep between them: bf16 or float32, or PATTERN=bf16 for "
         "those "
         "whose names it matches; sums are float32; repeatable, the first match counts. Default: "
         "float32")
        ->group(groups::common);
    app.add_option("--repeats", o->repeats,
                   "Also time so many runs of each batch: percentiles, and rows a second")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 20))
        ->group(groups::common);
    app.add_flag(
           "--explain", o->explain,
           "Say what ran instead of what came out: step by step the layout, why, the time, and "
           "operations and bytes a second")
        ->group(groups::common);
    sten::app::add_device(app, o->device,
                          "Where the model runs, operator by operator; what it lacks runs on the "
                          "CPU, and says so");
    app.add_option("--fill", o->fill,
                   "What a model of masked text puts in place of each [MASK] in TEXT; vocab.json "
                   "lies beside the model")
        ->type_name("TEXT")
        ->group(of_what);
    const auto generation = [&](const char* name, auto& value, const char* type, const char* what) {
      return app.add_option(name, value, what)->type_name(type)->group("What it generates");
    };
    generation(
        "--generate", o->generate, "N",
        "Continue --text by N tokens; their vocabulary lies beside the model. What attention "
        "keeps of earlier tokens is not computed again")
        ->check(CLI::Range(1, 1 << 24));
    generation("--text", o->text, "TEXT", "The text that --generate continues");
    generation("--temperature", o->temperature, "T",
               "Draw each token by softmax(logits / T) (default: take the likeliest)");
    generation("--top", o->top, "K", "Draw among the K likeliest tokens (default: all)")
        ->check(CLI::Range(1, 1 << 24));
    const auto check = [&](const char* name, auto& value, const char* what) {
      return app.add_option(name, value, what)->type_name("X")->group(groups::checks);
    };
    sten::app::allow_percent(check("--min-accuracy", o->min_accuracy,
                                   "Fail with exit code 3 if the accuracy is below X, 0 to 1"));
    check("--max-loss", o->max_loss, "Fail with exit code 3 if the loss is above X");
    check("--max-difference", o->max_difference,
          "Fail with exit code 3 if an element is further than X from that of --against");
    sten::app::allow_percent(check(
        "--min-agreement", o->min_agreement,
        "Fail with exit code 3 if fewer rows than X, 0 to 1, have the top class of --against"));
    app.add_flag(
           "--fail-if-slower", o->fail_if_slower,
           "Fail with exit code 3 if a weight takes longer in its sparse layout than dense, by "
           "the cache of --layouts auto, or measured where it has no times")
        ->group(groups::checks);
    return [o, &common] {
      o->force = common.force;
      o->seed = common.seed;
      o->show_progress = common.show_progress();
      sten::enlarge_memory_pool();
      sten::enable_device_memory_pool();
      return sten::run_model(*o);
    };
  });
}
