// How each output of a batch was made, in a file of the output directory:
//   {"sten_batch": 1, "outputs": {NAME: {program, version, input, options, output}}, "checksum"}
#pragma once
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "libsten/io/output_manifest.h"
#include "libsten/run/rewrite.h"

namespace sten {

struct BatchEntry {
  std::string program;
  std::string input;                 // checkpoint_checksum()
  std::vector<std::string> options;  // option_texts() of those that decide bytes
  std::string output;                // output_mark() of what was written
};

// What is read besides the inputs. Options have the rules themselves, but only names of the others.
struct SideInput {
  std::string flag, path;
  enum Kind { rules, checkpoint, data } kind = checkpoint;
};
// With the checksums of those, and without an input and output. Error where one cannot be read.
BatchEntry entry_of(const std::string& program, const Options& options,
                    const std::vector<SideInput>& reads, bool keep_other_weights);

// "" where `now` and `then` made the same from the same, else the first difference of program,
// options and input, in this order: "expected sparsity=0.9, got sparsity=0.5". An empty `input` of
// `now` is not compared.
std::string difference(const BatchEntry& now, const BatchEntry& then);

// Of all bytes that a copy of the checkpoint takes over: its files and, of a directory,
// companion_files() without `left`. Reads the input once. Error.
std::string checkpoint_checksum(const std::string& path, bool keep_other_weights);
// Of a file, or of all files in a directory. Error.
std::string data_checksum(const std::string& path);

class BatchManifest {
 public:
  // Reads the directory's record, if it has one. Error that names the file where it is a link, not
  // a record, or was changed.
  explicit BatchManifest(const std::string& directory);
  ~BatchManifest();  // writes
  BatchManifest(const BatchManifest&) = delete;
  BatchManifest& operator=(const BatchManifest&) = delete;

  const BatchEntry* find(const std::string& output) const;
  // From any thread. The file is replaced as a whole: at once, or a little later where that would
  // take more than a tenth of the time. Entries that other processes wrote meanwhile stay.
  void add(const std::string& output, BatchEntry entry);
  // Error.
  void write();

 private:
  using Clock = std::chrono::steady_clock;
  void write_locked();

  std::string directory_, path_;
  std::map<std::string, BatchEntry> entries_, added_;  // as read; since then
  std::mutex lock_;
  bool pending_ = false;
  Clock::time_point written_ = Clock::now();
  Clock::duration cost_{};
};

}  // namespace sten
