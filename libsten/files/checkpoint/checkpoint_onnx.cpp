// SPDX-License-Identifier: Apache-2.0
// ONNX models as checkpoints: initializers by name, read in place.
#include <filesystem>
#include <map>
#include <tuple>

#include "libsten/core/base/log.h"
#include "libsten/files/checkpoint/checkpoint.h"
#include "libsten/files/onnx/weights.h"
#include "libsten/files/system/fd.h"
#include "libsten/files/system/lack_of_memory.h"
#include "libsten/files/tensors/tensor_name.h"

namespace sten {
namespace {

namespace fs = std::filesystem;

// A temporary file of decoded typed fields, mapped like the other files.
class DecodedElements {
 public:
  explicit DecodedElements(const std::string& name) : name_(name) {}
  bool empty() const { return tensors_.empty(); }
  // Adds tensor `i`; returns its range in the file.
  std::pair<std::uint64_t, std::uint64_t> add(std::size_t i, const std::vector<std::byte>& data) {
    if (!file_) file_ = nameless_file(name_);
    if (const int error = write_all(file_.get(), data))
      fail("temporary copy in {}: {} (set TMPDIR to another directory)",
           printable(temporary_directory()), errno_text(error));
    tensors_.push_back(i);
    end_ += data.size();
    return {end_ - data.size(), end_};
  }
  const std::vector<std::size_t>& tensors() const { return tensors_; }
  MappedFile map() { return MappedFile::adopt_fd(file_.release(), name_); }

 private:
  std::string name_;
  Fd file_;
  std::uint64_t end_ = 0;
  std::vector<std::size_t> tensors_;
};

// External data files by location, opened once each, as shards from index 1.
class ExternalFiles {
 public:
  ExternalFiles(const std::string& directory, std::vector<Shard>& shards)
      : directory_(directory), shards_(shards) {}

  // The shard of a location. Error for a path that leaves the directory, and for a missing file.
  std::size_t find(std::string_view location) {
    const std::string file(location);
    if (const auto at = numbers_.find(file); at != numbers_.end()) return at->second;
    if (directory_.empty())
      fail("external data in {} need a model file, got a stream", quote(file));
    if (const std::string why = why_no_name(file); !why.empty())
      fail("external data in {}: {}", quote(file), why);
    check_inside(directory_, file);
    const std::string path = fs::path(directory_) / file;
    std::error_code none;
    if (!fs::exists(path, none)) fail("external data in {}: file not found", quote(file));
    MappedFile mapped = MappedFile::open(path);
    const MappedFile& model = shards_.front().file;
    if (mapped.device() == model.device() && mapped.inode() == model.inode())
      fail("external data must be in another file than the model");
    shards_.push_back({std::move(mapped), file, 0, {}});
    return numbers_[file] = shards_.size() - 1;
  }

 private:
  std::string directory_;
  std::vector<Shard>& shards_;
  std::map<std::string, std::size_t> numbers_;
};

void check_onnx_name(const std::string& name) {
  if (const std::string why = why_no_name(name); !why.empty()) fail("{}", why);
}

}  // namespace

void Checkpoint::add_onnx(MappedFile file, std::string file_name, const std::string& directory) {
  const ByteRange bytes = file.bytes();
  const std::string name = file.name();
  const OnnxModel model = read_onnx_model(bytes, name);
  const OnnxWeights found = find_onnx_weights(model.graph, WireFile{bytes, printable(name)});
  for (const std::string& note : found.notes) warn("{}: {}", name, note);
  if (found.tensors.size() > max_entries)
    fail("{}: expected at most {} initializers, got {}", name, max_entries, found.tensors.size());
  shards_.push_back({std::move(file), std::move(file_name), 0, {}});
  is_onnx_ = true;
  ExternalFiles external(directory, shards_);
  DecodedElements decoded(name);

  const auto add = [&](const OnnxWeight& w) {
    const OnnxTensor& from = *w.tensor;
    check_onnx_name(w.name);
    if (from.dims.size() > max_rank)
      fail("expected at most {} dimensions, got {}", max_rank, from.dims.size());
    CheckpointTensor t{
        {w.name, w.dtype, from.dims, Spec("dense"), w.use, w.in_by_out, w.module}, 0, {}, "", {}};
    const std::uint64_t size = byte_size(w.dtype, from.dims);
    std::uint64_t begin = 0, end = 0;
    if (from.store == OnnxStore::external) {
      t.shard = external.find(from.external.location);
      const std::uint64_t file_size = shards_[t.shard].file.bytes().size();
      begin = from.external.offset;
      const std::uint64_t length = from.external.length.value_or(size);
      if (begin > file_size || length > file_size - begin)
        fail("external data: {} bytes at byte {} exceed {}, which has {} bytes", length, begin,
             quote(shards_[t.shard].file_name), file_size);
      end = begin + length;
    } else if (const auto in_place = onnx_bytes_in_place(from)) {
      begin = in_place->empty() ? 0 : static_cast<std::uint64_t>(in_place->data() - bytes.data());
      end = begin + in_place->size();
    } else {
      std::tie(begin, end) = decoded.add(tensors_.size(), decode_onnx(from, w.dtype));
    }
    if (end - begin != size)
      fail("expected {} bytes for shape {} of {}, got {}", size, to_string(from.dims),
           name_of(w.dtype), end - begin);
    t.entries = {{w.name, w.dtype, from.dims, begin, end}};
    tensors_.push_back(std::move(t));
  };
  for (const OnnxWeight& w : found.tensors)
    or_lack_of_memory(name, w.name, [&] {
      try {
        add(w);
      } catch (const Error& e) {
        fail("{}: {}: {}", name, quote(w.name), e.what());
      }
    });

  if (decoded.empty()) return;
  for (const std::size_t i : decoded.tensors()) tensors_[i].shard = shards_.size();
  shards_.push_back({decoded.map(), "", 0, {}, true});
}

}  // namespace sten
