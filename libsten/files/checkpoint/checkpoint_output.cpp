// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/checkpoint/checkpoint_output.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "libsten/core/base/json.h"
#include "libsten/core/base/log.h"
#include "libsten/core/base/text.h"
#include "libsten/files/checkpoint/companion_files.h"
#include "libsten/files/checkpoint/gguf_companions.h"
#include "libsten/files/checkpoint/output_name.h"
#include "libsten/files/checkpoint/output_paths.h"
#include "libsten/files/checkpoint/weight_names.h"
#include "libsten/files/system/lack_of_memory.h"
#include "libsten/files/system/paths.h"
#include "libsten/files/tensors/npy.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

// Large enough that neither thread waits for the other's small tensors.
constexpr std::uint64_t max_pending = std::uint64_t{96} << 20;

bool is_array(const std::string& path) { return path.ends_with(".npy"); }

void refuse_stream(const std::string& directory) {
  if (is_stream(directory))
    fail_usage("{}: a directory cannot be written to a stream",
               directory == "-" ? "standard output" : printable(directory));
}

// Whether each tensor shares bytes with another one.
std::vector<bool> sharing_bytes(const Checkpoint& in) {
  const auto& tensors = in.tensors();
  std::vector<bool> shares(tensors.size());
  std::size_t last = tensors.size();  // the tensor with the greatest end so far
  for (const std::size_t i : in.data_order()) {
    const CheckpointTensor& t = tensors[i];
    if (t.bytes() == 0) continue;
    const auto end = [&](std::size_t k) { return tensors[k].entries.front().end; };
    const bool follows = last < tensors.size() && tensors[last].shard == t.shard;
    if (follows && t.entries.front().begin < end(last)) shares[i] = shares[last] = true;
    if (!follows || end(i) > end(last)) last = i;
  }
  return shares;
}

std::string why_fixed_in(const Checkpoint& in, std::size_t i, const std::vector<bool>& shares) {
  if (in.shards()[in.tensors()[i].shard].is_temporary)
    return "elements of varying width cannot be changed in place";
  if (shares[i]) return "external data that tensors share cannot be changed in place";
  return "";
}

}  // namespace

std::string CheckpointOutput::why_fixed(const Checkpoint& in,
                                        const std::vector<std::size_t>& changed) {
  const std::vector<bool> shares = sharing_bytes(in);
  for (const std::size_t i : changed)
    if (const std::string why = why_fixed_in(in, i, shares); !why.empty())
      return fmt::format("{}: {}", quote(in.tensors()[i].name), why);
  return "";
}

CheckpointOutput::CheckpointOutput(const std::string& path, bool force, bool directory,
                                   bool writes_graph, const GgufType* gguf_type)
    : gguf_type_(gguf_type),
      npy_(!directory && is_array(path)),
      onnx_(!directory && is_onnx_name(path)),
      writes_graph_(writes_graph),
      path_(path),
      force_(force) {
  if (!directory) {
    file_ = std::make_unique<OutputFile>(path, force);
    return;
  }
  refuse_stream(path);
  directory_ = std::make_unique<OutputDirectory>(path, force);
}

void CheckpointOutput::check(const std::string& path, bool force, bool directory) {
  if (directory) {
    refuse_stream(path);
    OutputDirectory::check(path, force);
  } else if (!is_stream(path)) {  // a pipe would wait for its reader
    const OutputFile possible(path, force);
  }
}

void CheckpointOutput::check_contents(const std::string& path, const Checkpoint& input,
                                      const std::vector<TensorInfo>& contents) {
  if (is_gguf_name(path)) {
    for (const TensorInfo& t : contents)
      if (t.is_sparse())
        fail_usage("{}: a GGUF file cannot store {} (write a .safetensors file)", printable(path),
                   t.layout.str());
    return;
  }
  if (!input.index() && is_onnx_name(path)) {
    if (!input.is_onnx()) check_output_name(path, Written::checkpoint);
    for (const TensorInfo& t : contents)
      if (t.is_sparse())
        fail_usage("{}: an ONNX model cannot store {} (write a .safetensors file)", printable(path),
                   t.layout.str());
    return;
  }
  if (!input.index() && is_array(path) && (contents.size() != 1 || contents.front().is_sparse()))
    fail_usage("{}: a .npy file takes one dense tensor (write a .safetensors file)",
               printable(path));
  check_entry_names(contents, input.name());  // over all shards, since an index has unique names
}

CheckpointOutput::~CheckpointOutput() = default;

void CheckpointOutput::begin(const Checkpoint& in, std::vector<TensorInfo> contents,
                             const std::function<Metadata(const Metadata&)>& annotate,
                             std::vector<std::string> left, const std::vector<bool>& changed) {
  in_ = &in;
  left_ = std::move(left);
  contents_ = std::move(contents);
  annotate_ = annotate;
  sten_names_ = std::any_of(contents_.begin(), contents_.end(),
                            [](const TensorInfo& t) { return t.is_sparse(); });
  if (directory_) make_folder(in.index()->folder);
  onnx_ |= directory_ && in.is_onnx() && writes_graph_ && !sten_names_;
  if (onnx_)
    begin_model();
  else if (!directory_ && is_gguf_name(path_))
    begin_gguf(changed);
  else if (!npy_)
    open_shard(0);
  if (in.gguf() && has_gguf_companions(path_)) add_gguf_companions();
  queue_.emplace(max_pending);
}

// Creates a folder with the input's permissions.
void CheckpointOutput::make_folder(const std::string& name) {
  if (name.empty()) return;
  const fs::path from = fs::path(in_->index()->directory) / name;
  directory_->make_directory(name, static_cast<unsigned>(fs::status(from).permissions()));
}

void CheckpointOutput::add(std::size_t i, const Tensor& t) {
  queue_->push(t.bytes(), [this, i, t] {
    write(i, &t);
    in_->drop(in_->tensors()[i]);  // t may borrow from the input
  });
}

void CheckpointOutput::copy(std::size_t i) {
  queue_->push(0, [this, i] { write(i, nullptr); });
}

void CheckpointOutput::write(std::size_t i, const Tensor* t) {
  const CheckpointTensor& info = in_->tensors()[i];
  if (npy_) return write_array(i, t ? *t : in_->load(info));
  if (onnx_) return t ? overwrite(i, *t) : void();
  if (gguf_)
    return or_lack_of_memory(in_->name(), info.name,
                             [&] { return t ? gguf_->add(i, *t) : gguf_->copy(i); });
  while (has_shards() && shard_ < info.shard) {
    close_shard();
    open_shard(shard_ + 1);
  }
  or_lack_of_memory(in_->name(), info.name, [&] {
    if (t || !info.is_plain())
      writer_->add(info.name, t ? *t : in_->load(info));
    else
      writer_->copy(*in_, info);
  });
}

void CheckpointOutput::write_array(std::size_t i, const Tensor& t) {
  const TensorInfo& info = contents_[i];
  const Stored stored = t.save();
  const std::string header = npy_header(info.dtype, info.shape);
  file_->write(std::as_bytes(std::span(header)));
  file_->write(stored.parts.front().bytes);
  file_bytes_ = file_->size();
}

void CheckpointOutput::begin_gguf(const std::vector<bool>& changed) {
  const fs::path from = in_->index() ? fs::path(in_->index()->directory) / in_->index()->folder
                                     : fs::path(in_->name()).parent_path();
  gguf_.emplace(*in_, from, gguf_type_, changed);
  gguf_->begin(*file_);
}

void CheckpointOutput::add_gguf_companions() {
  // The dtype of most elements of matrices.
  std::map<DType, Index> elements;
  for (const TensorInfo& t : contents_)
    if (t.shape.size() > 1 && is_prunable(t.dtype)) elements[t.dtype] += size_of(t.shape);
  const auto most = std::ranges::max_element(elements, {}, &std::pair<const DType, Index>::second);
  const DType dtype = most == elements.end() ? DType::F32 : most->first;
  for (const GgufCompanion& c : gguf_companions(*in_->gguf(), in_->name(), dtype)) {
    const std::string path = fs::path(path_).parent_path() / c.name;
    external_.push_back(std::make_unique<OutputFile>(path, force_));
    external_.back()->write(std::as_bytes(std::span(c.text)));
  }
}

void CheckpointOutput::begin_model() {
  const auto& shards = in_->shards();
  written_.resize(shards.size());
  if (directory_) file_ = directory_->new_file(shards.front().file_name);
  for (std::size_t s = 1; s < shards.size() && !shards[s].is_temporary; ++s) {
    if (directory_) {
      make_folder(fs::path(shards[s].file_name).parent_path());
      external_.push_back(directory_->new_file(shards[s].file_name));
      continue;
    }
    const std::string path = fs::path(path_).parent_path() / shards[s].file_name;
    if (resolved(path) == resolved(path_))
      fail_usage("{}: the output is both the model and its external data", printable(path));
    for (const Shard& input : shards)
      if (!input.is_temporary) refuse_same_file(path, input.file);
    external_.push_back(std::make_unique<OutputFile>(path, force_));
  }
  shares_bytes_ = sharing_bytes(*in_);
}

void CheckpointOutput::copy_to(std::size_t shard, std::uint64_t end) {
  OutputFile& out = shard == 0 ? *file_ : *external_[shard - 1];
  const std::uint64_t begin = written_[shard];
  out.copy_at(begin, in_->shards()[shard].file, begin, end - begin);
  written_[shard] = end;
}

void CheckpointOutput::overwrite(std::size_t i, const Tensor& t) {
  const CheckpointTensor& info = in_->tensors()[i];
  const SafetensorsEntry& e = info.entries.front();
  if (const std::string why = why_fixed_in(*in_, i, shares_bytes_); !why.empty())
    fail("{}: {}: {} (write a .safetensors file)", in_->name(), quote(info.name), why);
  if (e.begin == e.end) return;
  copy_to(info.shard, e.begin);
  const Stored stored = t.save();
  (info.shard == 0 ? *file_ : *external_[info.shard - 1])
      .write_at(e.begin, stored.parts.front().bytes);
  written_[info.shard] = e.end;
}

void CheckpointOutput::open_shard(std::size_t shard) {
  shard_ = shard;
  const Shard& from = in_->shards()[shard];
  if (directory_) {
    const std::string name = sten_names_ ? sten_name(from.file_name) : plain_name(from.file_name);
    file_ = directory_->new_file(name);
  }
  std::vector<TensorInfo> contents;
  for (std::size_t i = 0; i < contents_.size(); ++i)
    if (!has_shards() || in_->tensors()[i].shard == shard) contents.push_back(contents_[i]);
  writer_.emplace(*file_, annotate_(from.metadata), std::move(contents));
}

void CheckpointOutput::close_shard() {
  const std::string& from = in_->shards()[shard_].file_name;
  for (std::string& entry : writer_->finish())
    if (directory_)
      weight_map_[std::move(entry)] =
          (sten_names_ ? sten_name(from) : plain_name(from)).substr(in_->index()->folder.size());
  data_bytes_ += writer_->data_bytes();
  writer_.reset();
  file_bytes_ += file_->size();
  if (directory_) file_->commit();
}

void CheckpointOutput::finish() {
  queue_->push(0, [this] {
    if (npy_) return;
    for (std::size_t s = 0; s < written_.size(); ++s) {
      const Shard& from = in_->shards()[s];
      if (from.is_temporary) continue;
      copy_to(s, from.file.bytes().size());
      file_bytes_ += written_[s];
      if (directory_) (s == 0 ? file_ : external_[s - 1])->commit();
    }
    if (gguf_) file_bytes_ = file_->size();
    if (onnx_ || gguf_) return;
    while (has_shards() && shard_ + 1 < in_->shards().size()) {
      close_shard();
      open_shard(shard_ + 1);
    }
    close_shard();
  });
  queue_->wait();
  if (!directory_) return;
  copy_others();
  if (!in_->index()->index.empty()) write_index();
  directory_->write_manifest();
}

std::uint64_t CheckpointOutput::commit(Output* beside) {
  in_->check_unchanged();
  std::vector<Output*> outputs;
  for (const auto& data : external_)
    if (!directory_) outputs.push_back(data.get());
  outputs.push_back(directory_ ? static_cast<Output*>(directory_.get()) : file_.get());
  if (beside) outputs.push_back(beside);
  commit_together(outputs);
  return file_bytes_;
}

void CheckpointOutput::copy_others() {
  const std::string& directory = in_->index()->directory;
  for (const CompanionFile& c : companion_files(*in_->index(), left_)) {
    if (c.kind == CompanionFile::directory) {
      directory_->make_directory(c.name, c.mode);
    } else if (c.kind == CompanionFile::file) {
      const MappedFile from = MappedFile::open(fs::path(directory) / c.name);
      const auto to = directory_->new_file(c.name);
      if (const auto text = companions_.find(c.name); text != companions_.end())
        to->write(std::as_bytes(std::span(text->second)));
      else
        to->copy_at(0, from, 0, from.bytes().size());
      from.check_unchanged();
      to->commit();
      chmod(directory_->file(c.name).c_str(), static_cast<mode_t>(c.mode));
    } else {
      warn("{}: {} is not copied: expected a file or a directory", printable(directory),
           quote(c.name));
    }
  }
}

void CheckpointOutput::write_index() {
  const ShardIndex& index = *in_->index();
  auto metadata = parse_json(index.metadata, "metadata");
  metadata["total_size"] = data_bytes_;
  nlohmann::ordered_json j;
  j["metadata"] = std::move(metadata);
  j["weight_map"] = weight_map_;
  const std::string text = dump_json(j, 2) + "\n";
  const auto out =
      directory_->new_file(sten_names_ ? sten_name(index.index) : plain_name(index.index));
  out->write(std::as_bytes(std::span(text)));
  out->commit();
}

}  // namespace sten
