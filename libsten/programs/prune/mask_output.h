// The file of --mask-out: the masks of a run.
#pragma once
#include "libsten/files/checkpoint/mask_file.h"
#include "libsten/programs/plan/prune_options.h"

namespace sten {

class MaskOutput {
 public:
  // Opens the file, if there is one, before the input is read, to fail early. A dry run only checks
  // that the file could be written. Error (usage) if it is one of the other files.
  MaskOutput(const PruneFiles& files, const std::string& input, const OutputOptions& output);

  // Starts to write the masks of these tensors, except in a dry run.
  void begin(const std::vector<TensorInfo>& tensors);
  void add(const std::string& name, const Mask& mask);
  void finish();
  // The file to commit; nullptr if none is written.
  OutputFile* file() { return writer_ ? file_.get() : nullptr; }

 private:
  std::string path_;
  bool force_, dry_run_;
  std::unique_ptr<OutputFile> file_;
  std::optional<MaskWriter> writer_;
};

}  // namespace sten
