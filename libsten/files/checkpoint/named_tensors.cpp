// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/named_tensors.h"

#include "libsten/core/base/text.h"
#include "libsten/files/checkpoint/checkpoint_writer.h"

namespace sten {

NamedTensors load_tensors(const std::string& path) {
  const Checkpoint file = Checkpoint::open(path);
  NamedTensors all;
  for (const CheckpointTensor& t : file.tensors()) all.emplace(t.name, file.load(t));
  return all;
}

void save_tensors(const std::string& path, const NamedTensors& tensors, bool overwrite) {
  std::vector<TensorInfo> contents;
  for (const auto& [name, x] : tensors) contents.push_back({name, x.dtype(), x.shape(), x.spec()});
  check_entry_names(contents, printable(path));
  OutputFile out(path, overwrite);
  CheckpointWriter writer(out, {{"format", "pt"}}, contents);
  for (const auto& [name, x] : tensors) writer.add(name, x.to(Device::cpu));
  writer.finish();
  out.commit();
}

}  // namespace sten
