// SPDX-License-Identifier: Apache-2.0
// sten-run: flags -> RunOptions -> run_model().
#include "libsten/programs/run/run_model.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "apps/main.h"
#include "libsten/core/base/interrupt.h"
#include "libsten/core/base/memory_pool.h"
#include "libsten/core/base/text.h"

namespace groups = sten::app::groups;
constexpr const char *inputs = "Inputs", *named_file = "[NAME=]FILE";

namespace {

void add_generation(CLI::App& app, sten::GenerationOptions& o) {
  const auto add = [&](const char* name, auto& value, const char* type, const char* text) {
    return app.add_option(name, value, text)->type_name(type)->group("Text generation");
  };
  sten::PromptOptions& prompt = o.prompt;
  sten::SamplingOptions& sampling = o.text.sampling;
  add("--generate", o.text.count, "N",
      "Generate at most N tokens after the prompt\n"
      "Ends earlier at an end token of the model. Has a KV cache, and needs the vocabulary beside "
      "the model.")
      ->check(CLI::Range(1, 1 << 24));
  add("--prompt,--text", prompt.text, "TEXT", "Prompt of --generate");
  add("--prompt-file", prompt.file, "FILE", "Prompt: the text of a file, or of standard input (-)");
  add("--prompts", prompt.list, "FILE",
      "Prompts in JSON Lines: {\"prompt\": TEXT}\n"
      "Prints the lines with the generated texts, in the same order. --batch prompts run together "
      "(default 8). - reads standard input.");
  add("--chat", prompt.chat, "MESSAGES",
      "Chat: messages as JSON, or a .json or .jsonl file\n"
      "[{\"role\": ROLE, \"content\": TEXT}, ...], which become a prompt by the chat template of "
      "the model.");
  app.add_flag("--raw", prompt.raw,
               "Send the messages of --chat without a template\n"
               "The prompt is their contents, one per line.")
      ->group("Text generation");
  add("--temperature", sampling.temperature, "T",
      "Sample tokens by softmax(logits / T) (default: take the most likely token)");
  add("--top-k,--top", sampling.top_k, "K", "Sample from the K most likely tokens (default: all)");
  add("--top-p", sampling.top_p, "P", "Sample from the top tokens of total probability P");
  add("--min-p", sampling.min_p, "P", "Sample from tokens with P times the top probability");
  add("--repetition-penalty", sampling.repetition_penalty, "X",
      "Penalty of earlier tokens (default 1: none)\n"
      "Divides their positive logits by X, and multiplies their negative ones.");
  add("--stop", o.text.stops, "TEXT", "End the text before TEXT; repeatable")
      ->allow_extra_args(false);
}

// Control characters could control a terminal.
void print_text(const std::string& text) {
  if (isatty(STDOUT_FILENO) != 1) return sten::app::print_result(text);
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\n\t", at), text.size());
    shown += sten::printable(std::string_view(text).substr(at, end - at));
    if (end < text.size()) shown += text[end];
    at = end + 1;
  }
  sten::app::print_result(shown);
}

// An interrupt ends a generation after the current token.
sten::Outcome run_model(sten::RunOptions& o) {
  if (o.generation.text.count == 0) return sten::run_model(o);
  int signal = 0;
  sten::Outcome outcome;
  {
    const sten::NotedInterrupts interrupts;
    outcome = sten::run_model(o);
    signal = sten::NotedInterrupts::noted();
  }
  if (signal != 0) raise(signal);  // ends the process
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  const sten::app::Program program = {
      .name = "sten-run",
      .purpose = "Run a model on data or arrays: measure, check and time it, or generate text.",
      .example = "sten-run run --min-accuracy 0.9",
      .examples = {{"Write the outputs of all rows as an array, and time the model:",
                    "sten-run run --split all -o y.npy --repeats 20"},
                   {"Check weights from a pipe; the recipe gives the architecture:",
                    "sten-prune run/model.safetensors -o - --sparsity 0.5 | sten-run - --data "
                    "run/recipe.json --max-loss 1.5"},
                   {"Compare with another model; exits with 3 on less agreement:",
                    "sten-run pruned.safetensors --against run --min-agreement 0.98"},
                   {"Fill blanks with a masked language model:",
                    "sten-run bert --fill 'To be, or n[MASK]t to be'"},
                   {"Generate text:",
                    "sten-run gpt --generate 100 --prompt 'To be, or ' --temperature 0.8"},
                   {"Print the execution plan with layouts and times:",
                    "sten-run run --layouts '*.weight=csr' --explain"}},
      .verbose_adds = "the selected dense library",
      .has_total = false,
      .environment = {
          {"STEN_CACHE",
           "Directory of the cache of layout times, for --layouts auto and --fail-if-slower "
           "(default: sten in XDG_CACHE_HOME, or ~/.cache/sten)."}}};
  return sten::app::run(program, argc, argv, [](CLI::App& app, const sten::app::Common& common) {
    auto o = std::make_shared<sten::RunOptions>();
    const auto list = [&](const char* name, auto& values, const char* type, const char* text) {
      return app.add_option(name, values, text)->type_name(type)->allow_extra_args(false);
    };
    app.add_option("MODEL", o->model.path,
                   "Output directory of sten-train, Hugging Face directory, GGUF file, directory "
                   "with graph.json, ONNX file, or weights alone (a file, or - for standard "
                   "input)\n"
                   "The architecture of weights alone comes from --config or the recipe of --data.")
        ->required();
    list("--input", o->data.inputs, named_file,
         "Input of the model: .npy, or - for standard input; repeatable\n"
         "One safetensors file may hold all inputs. Token types, positions and the attention mask "
         "of a text model may be omitted.")
        ->group(inputs);
    app.add_option("--data", o->data.path,
                   "Dataset: a recipe of sten-train, a .csv file, a text, a folder of images or "
                   "questions in .jsonl (default: the data of training)")
        ->type_name("PATH")
        ->group(inputs);
    app.add_option("--split", o->data.split,
                   "Split of the dataset: test, validation, train or all\n"
                   "Default: the first of these that the recipe defines; all for other datasets.")
        ->type_name("SPLIT")
        ->check(CLI::IsMember({"test", "validation", "train", "all"}))
        ->group(inputs);
    app.add_option("--labels", o->data.labels,
                   "Labels of the rows of --input: .npy with class indices, -100 for no label\n"
                   "Measures loss and accuracy of the first output.")
        ->type_name("FILE")
        ->group(inputs);
    app.add_option("--config", o->model.config,
                   "Architecture of a weights-only MODEL: config.json, recipe, graph.json or ONNX "
                   "file")
        ->type_name("FILE")
        ->group(inputs);
    app.add_option("--batch", o->data.batch,
                   "Rows per batch (default: with --input all rows, with a recipe its "
                   "evaluation.batch)\nWith --prompts, the prompts that run together.")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 30))
        ->group(inputs);
    app.add_option("--window", o->data.window,
                   "Perplexity of the text --data in windows of N tokens\n"
                   "Each token is predicted once, from at most N - 1 earlier ones, as in Hugging "
                   "Face's guide. Default with --stride: the positions of the model.")
        ->type_name("N")
        ->check(CLI::Range(2, 1 << 30))
        ->group(inputs);
    app.add_option("--stride", o->data.stride,
                   "Tokens from one window to the next (default: --window)\n"
                   "A smaller stride gives each token more context, and takes more time.")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 30))
        ->group(inputs);
    list("-o,--output", o->outputs, named_file,
         "Write an output as .npy, or to standard output (-); repeatable\n"
         "A safetensors file takes all outputs. NAME= may be omitted for a model with one output.")
        ->group(groups::common);
    app.add_option(
           "--against", o->against,
           "Compare the outputs with those of another model\n"
           "Prints the largest and the mean difference, the share of rows with the same top "
           "class, and the KL divergence.")
        ->type_name("MODEL")
        ->group(groups::common);
    list("--layouts", o->model.layouts, "RULE",
         "Layout of weights: PATTERN=SPEC, as in '*.weight=csr', or auto; repeatable, the first "
         "match wins\n"
         "auto takes the fastest layout of each weight on this machine, measured once and cached. "
         "Default: the layouts in the file.")
        ->group(groups::common);
    list("--precision", o->model.precision, "RULE",
         "Precision: float32 (default) or bf16, or PATTERN=bf16 for nodes by name; repeatable, the "
         "first match wins\n"
         "Applies to products and to values between nodes; sums are float32.")
        ->group(groups::common);
    app.add_option("--repeats", o->model.repeats,
                   "Time N runs of each batch: percentiles and rows per second")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 20))
        ->group(groups::common);
    app.add_flag(
           "--explain", o->model.explain,
           "Print the execution plan instead of the outputs\n"
           "For each step: layout, time, operations and bytes per second, and why it runs so.")
        ->group(groups::common);
    sten::app::add_device(app, o->model.device,
                          "Operators run there. Operators without an implementation for the device "
                          "run on the CPU, with a warning.");
    app.add_option("--fill", o->fill,
                   "Fill each [MASK] in TEXT with a masked language model\n"
                   "Needs the vocabulary beside the model.")
        ->type_name("TEXT")
        ->group("Text generation");
    add_generation(app, o->generation);
    const auto check = [&](const char* name, auto& value, const char* text) {
      return app.add_option(name, value, text)->type_name("X")->group(groups::checks);
    };
    sten::app::allow_percent(check("--min-accuracy", o->checks.min_accuracy,
                                   "Exit with 3 if the accuracy is below X, 0 to 1"));
    check("--max-loss", o->checks.max_loss, "Exit with 3 if the loss is above X");
    check("--max-perplexity", o->checks.max_perplexity,
          "Exit with 3 if the perplexity of a text is above X");
    check("--max-difference", o->checks.max_difference,
          "Exit with 3 if an output differs by more than X from --against");
    sten::app::allow_percent(
        check("--min-agreement", o->checks.min_agreement,
              "Exit with 3 if --against has the same top class in less than the fraction X "
              "(0 to 1) of the rows"));
    app.add_flag("--fail-if-slower", o->checks.fail_if_slower,
                 "Exit with 3 if a weight is slower in its sparse layout than dense\n"
                 "Uses the cached times of --layouts auto, or measures.")
        ->group(groups::checks);
    return [o, &common] {
      o->force = common.force;
      o->generation.text.seed = common.seed;
      o->generation.batch = o->data.batch;
      if (!common.json && !o->model.explain) o->generation.text.print = print_text;
      o->show_progress = common.show_progress();
      sten::enlarge_memory_pool();
      sten::enable_device_memory_pool();
      return run_model(*o);
    };
  });
}
