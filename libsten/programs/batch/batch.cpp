// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/batch/batch.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>

#include "libsten/core/base/log.h"
#include "libsten/core/base/parallel.h"
#include "libsten/files/checkpoint/output_name.h"
#include "libsten/files/checkpoint/output_paths.h"
#include "libsten/files/checkpoint/shards.h"
#include "libsten/files/checkpoint/weight_names.h"
#include "libsten/files/system/interrupted.h"
#include "libsten/files/system/locked_directory.h"
#include "libsten/files/system/paths.h"
#include "libsten/programs/batch/batch_companions.h"
#include "libsten/programs/batch/pareto_chart.h"
#include "libsten/programs/prune/prune_report.h"
#include "libsten/programs/rewrite/batch_manifest.h"
#include "libsten/programs/rewrite/selection.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

// Above this size, the work on one file uses all threads.
constexpr std::uintmax_t small_file = std::uintmax_t{64} << 20;

struct Job {
  std::string input, output;
  std::string status = "not run";
  std::vector<Cell> total;  // cells of its report in the columns Work::totals
  std::vector<std::string> details;
  std::optional<Error> error;
  Report report;          // of this input
  bool renamed = false;   // to .safetensors, since the input's file type cannot hold the layout
  bool replaces = false;  // replaces an output of another input or of other options

  std::string name() const { return fs::path(output).filename(); }
};

// The work of a program on each input of a batch.
struct Work {
  Report one;                       // report of one input
  std::vector<std::string> totals;  // columns of that report
  OutputOptions output;             // without the path
  Options options;                  // options that decide bytes
  std::vector<SideInput> reads;
  std::function<Outcome(const std::string& input, const OutputOptions& output)> run;
  std::string to = "dense";  // layout of the outputs
};

// Advice for two inputs of one name.
std::string apart(const std::string& a, const std::string& b) {
  const auto folder = [](const std::string& path) { return resolved(path).parent_path(); };
  const fs::path x = folder(a), y = folder(b);
  const auto is_model = [](const std::string& path) {
    return plain_name(fs::path(path).filename()) == "model.safetensors";
  };
  if (is_model(a) && is_model(b) && x.filename() != y.filename())
    return fmt::format("give the directories {} and {}, or run them apart",
                       quote(fs::path(a).parent_path().string()),
                       quote(fs::path(b).parent_path().string()));
  return "run them apart, each with its own --out-dir";
}

std::vector<Job> make_jobs(const ManyInputs& many, bool writes_graph, const std::string& to) {
  std::vector<Job> jobs;
  std::map<std::string, std::string> taken;
  for (const std::string& input : many.inputs) {
    if (input == "-") fail_usage("standard input cannot be one of several inputs");
    jobs.emplace_back().input = input;
    if (many.out_dir.empty()) continue;
    // Resolves "M/sub/.." and ".", but not the links of a hub's cache, whose targets have no
    // telling names.
    const fs::path name = is_sharded(input)
                              ? resolved(input).filename().string()
                              : result_name(fs::path(input).filename(), writes_graph, to);
    if (name.empty()) fail_usage("{}: the root directory gives no output name", quote(input));
    const auto [at, fresh] = taken.emplace(name, input);
    if (!fresh)
      fail_usage("{} and {} would both be written as {} ({})", quote(at->second), quote(input),
                 quote(name.string()), apart(at->second, input));
    jobs.back().output = fs::path(many.out_dir) / name;
    jobs.back().renamed =
        to != "dense" && !is_sharded(input) && name != safetensors_name(fs::path(input).filename());
  }
  return jobs;
}

bool is_small(const Job& job) {
  std::error_code error;
  return fs::is_regular_file(job.input, error) && fs::file_size(job.input, error) <= small_file;
}

bool has_output(const Job& job) {
  std::error_code none;
  return !job.output.empty() && fs::exists(job.output, none);
}

// Marks jobs whose outputs are not written again. Error (usage) for an output that was made from
// another input or with other options.
void skip_existing(const ManyInputs& many, const Work& work, const BatchEntry& now,
                   const BatchManifest& manifest, std::vector<Job>& jobs) {
  std::vector<std::string> differs(jobs.size());
  std::vector<char> unknown(jobs.size());
  parallel_for(static_cast<Index>(jobs.size()), 1, [&](Index begin, Index end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      Job& job = jobs[i];
      if (!has_output(job)) continue;
      job.status = "skipped";
      if (many.skip_existing == SkipExisting::any) continue;
      const BatchEntry* then = manifest.find(job.name());
      unknown[i] = !then || then->output != output_mark(job.output);
      if (unknown[i]) continue;
      BatchEntry mine = now;
      differs[i] = difference(mine, *then);
      if (!differs[i].empty() || is_stream(job.input)) continue;
      try {
        mine.input = checkpoint_checksum(job.input, work.output.keep_other_weights);
        differs[i] = difference(mine, *then);
      } catch (const Error&) {
        job.status = "not run";  // the report says why
      }
    }
  });
  std::vector<std::string> unknown_names, other_names;
  std::string first;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (unknown[i]) unknown_names.push_back(jobs[i].output);
    if (differs[i].empty()) continue;
    if (first.empty()) first = printable(jobs[i].output) + ": was made differently: " + differs[i];
    other_names.push_back(jobs[i].output);
    jobs[i].status = "not run";
    jobs[i].replaces = true;
  }
  const auto and_more = [](const std::vector<std::string>& names) {
    return names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : std::string();
  };
  if (!other_names.empty() && !work.output.force)
    fail_usage(
        "{}{} (--force replaces, --skip-existing=any skips)", first,
        other_names.size() > 1 ? fmt::format("; {} more differ", other_names.size() - 1) : "");
  if (!unknown_names.empty())
    warn("{}{}: skipped without comparison, as {} has no current entry",
         printable(unknown_names.front()), and_more(unknown_names), batch_manifest_name);
}

void run_job(const ManyInputs& many, const Work& work, const BatchEntry& made,
             BatchManifest* manifest, Job& job) {
  if (job.status == "skipped") return;
  if (many.skip_existing != SkipExisting::no && !job.replaces && has_output(job)) {
    job.status = "skipped";  // another process was faster
    return;
  }
  std::error_code none;
  OutputOptions output = work.output;
  output.path = job.output;
  output.in_new_folder = output.dry_run && !fs::exists(many.out_dir, none);
  try {
    BatchEntry entry = made;
    // Before the work, so that an input that changes meanwhile does not count as done.
    const bool is_recorded = manifest && !is_stream(job.input);
    if (is_recorded) entry.input = checkpoint_checksum(job.input, output.keep_other_weights);
    Outcome outcome = work.run(job.input, output);
    Report& r = outcome.report;
    for (const std::string& key : work.totals)
      if (!r.total.empty()) job.total.push_back(r.at(r.total, key));
    job.status = "done";
    job.details = selected_rows(r);
    for (std::string& line : outcome.details) job.details.push_back(std::move(line));
    if (outcome.failure)
      job.error = Error(outcome.failure->fault(),
                        fmt::format("{}: {}", printable(job.input), outcome.failure->what()));
    job.report = std::move(r);
    if (is_recorded && !job.error) {
      entry.output = output_mark(job.output);
      manifest->add(job.name(), std::move(entry));
    }
  } catch (const Error& e) {
    const std::string text = e.what();
    const auto says = [&](const std::string& path) {
      return !path.empty() && text.find(printable(path)) != text.npos;
    };
    job.error = says(job.input) || says(job.output)
                    ? e
                    : Error(e.fault(), fmt::format("{}: {}", printable(job.input), text));
  } catch (const std::bad_alloc&) {
    job.error = Error(Fault::input, printable(job.input) + ": out of memory");
  }
  if (job.error) job.status = job.error->fault() == Fault::check ? "check failed" : "failed";
}

void prepare_outputs(const ManyInputs& many, const Work& work, const std::vector<Job>& jobs) {
  std::vector<NamedPath> outputs, inputs;
  for (const SideInput& r : work.reads) inputs.push_back({r.flag, r.path});
  for (const Job& job : jobs) {
    inputs.push_back({"", job.input});
    outputs.push_back({"", job.output});
  }
  check_outputs(inputs, outputs);
  check_directory(many.out_dir);
  std::error_code error;
  if (!work.output.dry_run) fs::create_directories(many.out_dir, error);
  if (error) fail("{}: {}", printable(many.out_dir), error.message());
}

Outcome outcome_of(const std::vector<Job>& jobs, const ManyInputs& many, const Work& work) {
  Outcome outcome;
  Report& r = outcome.report;
  r.program = work.one.program;
  r.item = "inputs";
  r.columns = {{"name", "input", Unit::text}};
  if (!many.out_dir.empty()) r.columns.push_back({"output", "output", Unit::text});
  r.columns.push_back({"status", "status", Unit::text});
  for (const Column& c : work.one.columns)
    if (std::ranges::count(work.totals, c.key)) r.columns.push_back(c);
  r.columns.push_back({"error", "error", Unit::text});
  r.optional_columns = work.one.optional_columns;
  r.optional_columns.insert(r.optional_columns.end(), {"output", "bytes_before"});
  std::map<std::string, Index> count;
  for (const Job& job : jobs) {
    std::vector<Cell> row;
    r.at(row, "name") = job.input;
    if (!many.out_dir.empty()) r.at(row, "output") = job.output;
    r.at(row, "status") = job.status;
    for (std::size_t k = 0; k < job.total.size(); ++k) r.at(row, work.totals[k]) = job.total[k];
    if (job.error) r.at(row, "error") = std::string(job.error->what());
    r.rows.push_back(std::move(row));
    r.parts.push_back(job.report);
    ++count[job.status];
    for (const std::string& line : job.details)
      outcome.details.push_back(fmt::format("{}: {}", printable(job.input), line));
  }
  std::string summary;
  for (const auto& [status, n] : count)
    summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", n, status);
  r.notes.push_back(fmt::format("{} inputs: {}", jobs.size(), summary));
  if (const Index n = std::ranges::count_if(jobs, &Job::renamed))
    r.notes.push_back(fmt::format("{} named .safetensors: an .onnx or .npy file cannot hold {}",
                                  n == 1 ? "1 output is" : fmt::format("{} outputs are", n),
                                  work.to));
  if (Chart chart = pareto_chart(r); !chart.series.empty()) r.charts = {std::move(chart)};
  // Each failure was reported as it happened.
  if (count["failed"])
    outcome.failure = Error(Fault::input, "");
  else if (count["check failed"])
    outcome.failure = Error(Fault::check, "");
  if (outcome.failure) r.failure = summary;
  return outcome;
}

Outcome run_batch(const ManyInputs& many, const Work& work) {
  std::vector<Job> jobs = make_jobs(many, work.output.writes_graph, work.to);
  std::optional<BatchManifest> manifest;
  std::optional<BatchCompanions> companions;
  BatchEntry made;
  if (!many.out_dir.empty()) {
    prepare_outputs(many, work, jobs);
    const auto& type = work.output.type;
    const std::optional<DType> new_dtype = type ? type->dtype : std::nullopt;
    companions.emplace(many.inputs, many.out_dir, work.output.force, new_dtype);
    manifest.emplace(many.out_dir);
    made = entry_of(work.one.program, work.options, work.reads, work.output.keep_other_weights);
    if (many.skip_existing != SkipExisting::no) skip_existing(many, work, made, *manifest, jobs);
    if (work.output.dry_run) manifest.reset();
  }
  std::mutex lock;
  // The first job of `order` that failed. Jobs before it still run, so that the result does not
  // depend on timing.
  std::size_t stop = jobs.size();
  std::size_t finished = 0;
  const auto say_finished = [&] {
    if (!many.out_dir.empty() && !work.output.dry_run)
      set_resume_hint(
          fmt::format("{} of {} inputs are done; --skip-existing continues with the others",
                      finished, jobs.size()));
  };
  say_finished();
  std::vector<Job*> order;
  const auto run = [&](std::size_t at) {
    Job& job = *order[at];
    {
      const std::lock_guard hold(lock);
      if (at > stop) return;
    }
    run_job(many, work, made, manifest ? &*manifest : nullptr, job);
    const std::lock_guard hold(lock);
    finished += job.status == "done";
    say_finished();
    if (!job.error) return;
    if (many.on_error) many.on_error(*job.error);
    if (!many.keep_going) stop = std::min(stop, at);
  };
  for (Job& job : jobs) order.push_back(&job);
  const auto large = std::stable_partition(order.begin(), order.end(),
                                           [](const Job* job) { return is_small(*job); });
  const Index small = large - order.begin();
  parallel_for(small, 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) run(static_cast<std::size_t>(i));
  });
  for (auto i = static_cast<std::size_t>(small); i < order.size(); ++i) run(i);
  if (manifest) manifest->write();
  Outcome outcome = outcome_of(jobs, many, work);
  const auto has_output_now = [](const Job& j) {
    return j.status == "done" || j.status == "skipped";
  };
  if (companions && std::ranges::any_of(jobs, has_output_now)) {
    if (!work.output.dry_run) companions->copy();
    std::ranges::move(companions->notes(), std::back_inserter(outcome.report.notes));
  }
  return outcome;
}

// Runs one input with the options of the batch.
template <class EachOptions, class Run>
auto one_input(const EachOptions& each, Run run) {
  return [&each, run](const std::string& input, const OutputOptions& output) {
    EachOptions o = each;
    o.input = input;
    if constexpr (requires { o.output; }) o.output = output;
    o.show_progress = false;
    return run(o);
  };
}

}  // namespace

// Wrong options are reported once, before the first input.

Outcome prune_batch(const ManyInputs& many, const PruneRequest& each) {
  const PruneFiles& files = each.options().files;
  if (!files.mask_out.empty())
    fail_usage("--mask-out: expected 1 input, got {}", many.inputs.size());
  return run_batch(many, {prune_report(),
                          {"elements", "kept", "sparsity", "energy", "bytes_before", "bytes_after"},
                          each.options().output,
                          each.values(),
                          {{"--mask", files.mask},
                           {"--scores", files.scores},
                           {"--rules", files.rules, SideInput::rules},
                           {"--statistics", each.options().calibration.statistics},
                           {"--calibrate", each.options().calibration.data, SideInput::data}},
                          [&](const std::string& input, const OutputOptions& output) {
                            return prune(each.on(input, output));
                          },
                          each.options().tensors.to.str()});
}

Outcome convert_batch(const ManyInputs& many, const ConvertOptions& each) {
  return run_batch(many, {convert_report(),
                          {"sparsity", "energy", "bytes_before", "bytes_after"},
                          each.output,
                          deciding_options(each),
                          {},
                          one_input(each, convert_checkpoint),
                          layout_in_names(each)});
}

Outcome energy_batch(const ManyInputs& many, const EnergyOptions& each) {
  check_options(each);
  if (each.against == "-") fail_usage("standard input cannot be the original of several inputs");
  const Report one = energy_report();
  std::vector<std::string> totals;  // all columns of numbers
  for (const Column& c : one.columns)
    if (c.unit != Unit::text && c.unit != Unit::shape) totals.push_back(c.key);
  ManyInputs inputs = many;
  inputs.out_dir.clear();
  return run_batch(inputs, {one, totals, {}, {}, {}, one_input(each, measure_energy)});
}

}  // namespace sten
