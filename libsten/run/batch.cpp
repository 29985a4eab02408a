#include "libsten/run/batch.h"

#include <filesystem>
#include <map>
#include <mutex>

#include "libsten/base/parallel.h"
#include "libsten/io/locked_directory.h"
#include "libsten/io/output_paths.h"
#include "libsten/run/prune_request.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

// Above this the work within a file keeps all threads busy.
constexpr std::uintmax_t small_file = std::uintmax_t{64} << 20;

struct Job {
  std::string input, output;
  std::string status = "not run";
  std::vector<Cell> total;  // of its report
  std::optional<Error> error;
};

std::vector<Job> make_jobs(const BatchOptions& o) {
  std::vector<Job> jobs;
  std::map<std::string, std::string> taken;
  for (const std::string& input : o.inputs) {
    if (input == "-") fail_usage("standard input cannot be one of several inputs");
    // "M/sub/.." and "." are what they lead to.
    const fs::path name = resolved(input).filename();
    if (name.empty()) fail_usage("{}: the root has no name for its result", quote(input));
    const auto [at, fresh] = taken.emplace(name, input);
    if (!fresh)
      fail_usage("{} and {} would both be written as {}", quote(at->second), quote(input),
                 quote(name.string()));
    jobs.push_back({input, fs::path(o.out_dir) / name, "not run", {}, std::nullopt});
  }
  return jobs;
}

bool is_small(const Job& job) {
  std::error_code error;
  return fs::is_regular_file(job.input, error) && fs::file_size(job.input, error) <= small_file;
}

void run_job(const BatchOptions& o, Job& job) {
  std::error_code none;
  if (o.skip_existing && fs::exists(job.output, none)) {
    job.status = "skipped";
    return;
  }
  PruneOptions p = o.prune;
  p.input = job.input;
  p.output.path = job.output;
  p.output.in_new_folder = p.output.dry_run && !fs::exists(o.out_dir, none);
  p.show_progress = false;
  try {
    Outcome outcome = prune(p);
    job.total = outcome.report.total;
    job.status = "done";
    if (outcome.failure)
      job.error = Error(outcome.failure->fault(),
                        fmt::format("{}: {}", printable(job.input), outcome.failure->what()));
  } catch (const Error& e) {
    job.error = e;
  } catch (const std::bad_alloc&) {
    job.error = Error(Fault::input, printable(job.input) + ": out of memory");
  }
  if (job.error) job.status = job.error->fault() == Fault::check ? "check failed" : "failed";
}

}  // namespace

Outcome prune_batch(const BatchOptions& o) {
  const PruneRequest request(o.prune);  // what is wrong with the options is said once
  if (!o.prune.mask_out.empty()) fail_usage("--mask-out is one file, and there are several inputs");
  std::vector<Job> jobs = make_jobs(o);
  std::vector<NamedPath> outputs,
      inputs = {
          {"--mask", o.prune.mask}, {"--scores", o.prune.scores}, {"--rules", o.prune.rules_file}};
  for (const Job& job : jobs) {
    inputs.push_back({"", job.input});
    outputs.push_back({"", job.output});
  }
  check_outputs(inputs, outputs);
  check_directory(o.out_dir);
  std::error_code error;
  if (!o.prune.output.dry_run) fs::create_directories(o.out_dir, error);
  if (error) fail("{}: {}", printable(o.out_dir), error.message());

  std::mutex lock;
  bool stop = false;
  const auto run = [&](Job& job) {
    {
      const std::lock_guard hold(lock);
      if (stop) return;
    }
    run_job(o, job);
    const std::lock_guard hold(lock);
    if (!job.error) return;
    if (o.on_error) o.on_error(*job.error);
    stop |= !o.keep_going;
  };
  std::vector<Job*> small, large;
  for (Job& job : jobs) (is_small(job) ? small : large).push_back(&job);
  parallel_for(static_cast<Index>(small.size()), 1, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) run(*small[i]);
  });
  for (Job* job : large) run(*job);

  Outcome outcome;
  Report& r = outcome.report;
  r.program = "sten-prune";
  r.item = "inputs";
  r.columns = {{"name", "input", Unit::text},         {"output", "output", Unit::text},
               {"status", "status", Unit::text},      {"elements", "elements", Unit::count},
               {"kept", "kept", Unit::count},         {"sparsity", "sparsity", Unit::fraction},
               {"energy", "energy", Unit::ratio},     {"bytes_before", "before", Unit::bytes},
               {"bytes_after", "after", Unit::bytes}, {"error", "error", Unit::text}};
  std::map<std::string, Index> count;
  for (const Job& job : jobs) {
    std::vector<Cell> row;
    r.at(row, "name") = job.input;
    r.at(row, "output") = job.output;
    r.at(row, "status") = job.status;
    const Report layout = prune_report();
    std::vector<Cell> total = job.total;
    for (const char* key :
         {"elements", "kept", "sparsity", "energy", "bytes_before", "bytes_after"})
      if (!total.empty()) r.at(row, key) = layout.at(total, key);
    if (job.error) r.at(row, "error") = std::string(job.error->what());
    r.rows.push_back(std::move(row));
    ++count[job.status];
  }
  std::string summary;
  for (const auto& [status, n] : count)
    summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", n, status);
  r.notes.push_back(fmt::format("{} inputs: {}", jobs.size(), summary));
  // Each was said as it happened.
  if (count["failed"])
    outcome.failure = Error(Fault::input, "");
  else if (count["check failed"])
    outcome.failure = Error(Fault::check, "");
  if (outcome.failure) r.failure = summary;
  return outcome;
}

}  // namespace sten
