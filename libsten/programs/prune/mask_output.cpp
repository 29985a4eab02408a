#include "libsten/programs/prune/mask_output.h"

#include "libsten/files/checkpoint/output_name.h"
#include "libsten/files/checkpoint/output_paths.h"
#include "libsten/files/system/paths.h"

namespace sten {

MaskOutput::MaskOutput(const PruneFiles& files, const std::string& input,
                       const OutputOptions& output)
    : path_(files.mask_out), force_(output.force), dry_run_(output.dry_run) {
  if (path_.empty()) return;
  check_outputs(
      {{"", input}, {"--mask", files.mask}, {"--scores", files.scores}, {"--rules", files.rules}},
      {{"-o", output.path}, {"--mask-out", path_}});
  check_output_name(path_, Written::masks);
  // A pipe is opened last, since opening waits for its reader.
  if (!is_stream(path_)) file_ = std::make_unique<OutputFile>(path_, force_);
}

void MaskOutput::begin(const std::vector<TensorInfo>& tensors) {
  if (path_.empty() || dry_run_) return;
  if (!file_) file_ = std::make_unique<OutputFile>(path_, force_);
  writer_.emplace(*file_, tensors);
}

void MaskOutput::add(const std::string& name, const Mask& mask) {
  if (writer_) writer_->add(name, mask.to(Device::cpu));
}

void MaskOutput::finish() {
  if (writer_) writer_->finish();
}

}  // namespace sten
