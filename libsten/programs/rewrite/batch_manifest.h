// SPDX-License-Identifier: Apache-2.0
// The manifest of a batch: how each output was made, in a file of the output directory:
//   {"sten_batch": 1, "outputs": {NAME: {program, version, input, options, output}}, "checksum"}
#pragma once
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "libsten/files/system/output_manifest.h"
#include "libsten/programs/rewrite/rewrite.h"

namespace sten {

struct BatchEntry {
  std::string program;
  std::string input;                 // checkpoint_checksum()
  std::vector<std::string> options;  // option_texts() of the options that decide bytes
  std::string output;                // output_mark() of the output
};

// A file that is read besides the input. Options contain rules themselves, but only the names of
// such files.
struct SideInput {
  std::string flag, path;
  enum Kind { rules, checkpoint, data } kind = checkpoint;
};
// Returns the entry with the checksums of `reads`; its input and output are empty. Error if a file
// cannot be read.
BatchEntry entry_of(const std::string& program, const Options& options,
                    const std::vector<SideInput>& reads, bool keep_other_weights);

// Compares two entries. Returns "" for the same program, options and input, else the first
// difference in this order: "expected sparsity=0.9, got sparsity=0.5". An empty `now.input` is not
// compared.
std::string difference(const BatchEntry& now, const BatchEntry& then);

// Checksum of all bytes that an unchanged copy would have: the checkpoint's files and, for a
// directory, the companions that an output would get. Reads the input once. Error if a file cannot be
// read.
std::string checkpoint_checksum(const std::string& path, bool keep_other_weights);
// Checksum of a file, or of all files of a directory. Error if a file cannot be read.
std::string data_checksum(const std::string& path);

class BatchManifest {
 public:
  // Reads the manifest of the directory, if there is one. Error with the file's name if it is a
  // link, is not a manifest, or was changed.
  explicit BatchManifest(const std::string& directory);
  ~BatchManifest();  // calls write()
  BatchManifest(const BatchManifest&) = delete;
  BatchManifest& operator=(const BatchManifest&) = delete;

  const BatchEntry* find(const std::string& output) const;
  // Adds an entry; thread-safe. Replaces the file as a whole: at once, or later if writing would
  // take more than a tenth of the time. Entries of other processes stay.
  void add(const std::string& output, BatchEntry entry);
  // Writes the file. Error if it cannot be written.
  void write();

 private:
  using Clock = std::chrono::steady_clock;
  void write_locked();

  std::string directory_, path_;
  std::map<std::string, BatchEntry> entries_, added_;  // entries of the file; entries added later
  std::mutex lock_;
  bool pending_ = false;
  Clock::time_point written_ = Clock::now();
  Clock::duration cost_{};
};

}  // namespace sten
