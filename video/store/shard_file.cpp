#include "video/store/shard_file.h"

#include <hdf5.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/check.h"
#include "video/store/shard_checksum.h"
#include "video/store/shard_driver.h"
#include "video/store/shard_layout.h"

namespace zoetrope {
namespace {

constexpr size_t kChecksumBytes = 4;

/// Turns HDF5's own exit handler off, once: after a full disk it would try again.
void turn_exit_handler_off() {
  static const bool done = [] { return H5dont_atexit() >= 0; }();
  (void)done;
}

/// One thread in the library at a time. Its own printing of errors is off, which counts for each thread
/// alone.
class LibraryGuard {
 public:
  LibraryGuard() : guard_(mutex()) {
    turn_exit_handler_off();
    thread_local const bool quiet = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
    (void)quiet;
  }

 private:
  static std::mutex& mutex() {
    static std::mutex lock;
    return lock;
  }
  std::lock_guard<std::mutex> guard_;
};

herr_t take_description(unsigned depth, const H5E_error2_t* error, void* text) {
  if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

/// What HDF5 said about the last failure.
std::string library_message() {
  std::string text = "unknown HDF5 error";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_description, &text);
  return text;
}

int64_t require(int64_t result, const std::string& file, const std::string& what) {
  if (result < 0) throw Error(join_message("'", file, "': can't ", what, ": ", library_message()));
  return result;
}

/// An HDF5 identifier with its closing function.
class Handle {
 public:
  Handle() = default;
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept { *this = std::move(other); }
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

hid_t memory_type(DType dtype) {
  switch (dtype) {
    case DType::kU8: return H5T_NATIVE_UINT8;
    case DType::kI64: return H5T_NATIVE_INT64;
    case DType::kF64: return H5T_NATIVE_DOUBLE;
    default: ZT_CHECK(false, "shards hold u8, i64 and f64, not ", name_of(dtype)); return -1;
  }
}

/// Little-endian on disk, so that the bytes don't depend on the machine.
hid_t disk_type(DType dtype) {
  switch (dtype) {
    case DType::kU8: return H5T_STD_U8LE;
    case DType::kI64: return H5T_STD_I64LE;
    default: return H5T_IEEE_F64LE;
  }
}

Handle creation_properties() {
  Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  require(H5Pset_obj_track_times(properties, false), "new shard", "turn object times off");
  return properties;
}

Handle open_dataset(hid_t file, const std::string& path, const std::string& name) {
  shard_layout::require_own_link(file, path, name);
  Handle dataset(require(H5Dopen2(file, name.c_str(), H5P_DEFAULT), path, "open '" + name + "'"), H5Dclose);
  shard_layout::require_plain(file, dataset, path, name);
  return dataset;
}

/// Extents of a data set of one or two dimensions; a missing second one is 0.
void extents_of(hid_t dataset, const std::string& path, const std::string& name, int& dims,
                hsize_t (&extents)[2]) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  dims = H5Sget_simple_extent_ndims(space);
  ZT_REQUIRE(dims == 1 || dims == 2, "'", path, "': '", name, "' has ", dims, " dimensions, expected 1 or 2");
  require(H5Sget_simple_extent_dims(space, extents, nullptr), path, "read the size of '" + name + "'");
}

}  // namespace

struct ShardImage::State {
  explicit State(const std::string& path) : file(std::make_unique<PartialFile>(path)) { create(); }

  std::unique_ptr<PartialFile> file;
  ShardRecords records;  // outlives what HDF5 has open
  Handle image, rows;
  std::string rows_name;
  hsize_t features = 0, chunk_rows = 0;
  std::vector<uint64_t> places;  ///< of chunks, in their order
  size_t written = 0;            ///< chunks
  size_t held = 0;               ///< bytes of the chunk at work
  std::vector<uint8_t> chunk;    ///< with room for its checksum
  size_t marked_written = 0, marked_held = 0;
  std::vector<uint8_t> marked_bytes;  ///< of the chunk that was at work, once it is written

  size_t chunk_bytes() const { return chunk.size() - kChecksumBytes; }
  hsize_t num_rows() const { return (hsize_t(written) * chunk_bytes() + held) / features; }

  void create() {
    const LibraryGuard guard;
    const Handle access(require(access_to(records), "new shard", "set up its records"), H5Pclose);
    image = {require(H5Fcreate("shard", H5F_ACC_TRUNC, H5P_DEFAULT, access), "new shard", "create it"),
             H5Fclose};
  }

  void create_rows() {
    const LibraryGuard guard;
    const hsize_t none[2] = {0, features}, unlimited[2] = {H5S_UNLIMITED, features};
    const hsize_t extents[2] = {chunk_rows, features};
    const Handle space(H5Screate_simple(2, none, unlimited), H5Sclose);
    const Handle properties = creation_properties();
    require(H5Pset_chunk(properties, 2, extents), "new shard", "set the chunk size");
    require(H5Pset_fletcher32(properties), "new shard", "turn checksums on");
    rows = {require(H5Dcreate2(image, rows_name.c_str(), H5T_STD_U8LE, space, H5P_DEFAULT, properties,
                               H5P_DEFAULT),
                    "new shard", "create '" + rows_name + "'"),
            H5Dclose};
  }

  void set_rows(hsize_t count) {
    const LibraryGuard guard;
    const hsize_t extents[2] = {count, features};
    require(H5Dset_extent(rows, extents), "new shard", "grow the payload");
  }

  /// Has HDF5 place the next chunk, which it is told has been written; where depends on their number alone.
  void place_chunk() {
    const LibraryGuard guard;
    const hsize_t offset[2] = {places.size() * chunk_rows, 0};
    records.expect_payload(chunk.size());
    require(H5Dwrite_chunk(rows, H5P_DEFAULT, 0, offset, chunk.size(), chunk.data()), "new shard",
            "place the payload");
    const int64_t address = records.take_payload();
    ZT_CHECK(address >= 0, "HDF5 did not place rows ", offset[0], " of a new shard at once");
    places.push_back(uint64_t(address));
  }

  /// Writes the chunk at work with its checksum, past HDF5: rows that it doesn't have are zeros.
  void write_chunk() {
    const size_t bytes = chunk_bytes();
    if (written == marked_written) marked_bytes.assign(chunk.begin(), chunk.begin() + int64_t(marked_held));
    std::fill(chunk.begin() + int64_t(held), chunk.begin() + int64_t(bytes), uint8_t(0));
    const uint32_t sum = fletcher32(chunk.data(), bytes);
    for (size_t i = 0; i < kChecksumBytes; ++i) chunk[bytes + i] = uint8_t(sum >> (8 * i));
    file->write_at(chunk.data(), chunk.size(), places[written]);
    ++written;
    held = 0;
  }

  /// Has HDF5 begin anew, without the chunks of clips that were taken back: it does not take them back
  /// itself.
  void drop_spare_chunks() {
    const std::vector<uint64_t> before = std::move(places);
    {
      const LibraryGuard guard;
      rows = {};
      image = {};
    }
    records = {};
    places.clear();
    file->resize(*std::min_element(before.begin() + int64_t(written), before.end()));
    create();
    create_rows();
    while (places.size() < written) {
      set_rows((places.size() + 1) * chunk_rows);
      place_chunk();
      ZT_CHECK(places.back() == before[places.size() - 1], "HDF5 placed chunk ", places.size() - 1,
               " of a new shard elsewhere than before");
    }
  }
};

ShardImage::ShardImage(const std::string& path) : state_(std::make_unique<State>(path)) {}

ShardImage::~ShardImage() {
  const LibraryGuard guard;
  state_.reset();
}

void ShardImage::write(const std::string& name, const Tensor& values) {
  ZT_CHECK(values.dense() && (values.dims() == 1 || values.dims() == 2), "array '", name, "' is ",
           values.shape_text());
  const LibraryGuard guard;
  const hsize_t extents[2] = {hsize_t(values.dim(0)), values.dims() == 2 ? hsize_t(values.dim(1)) : 0};
  const Handle space(H5Screate_simple(values.dims(), extents, nullptr), H5Sclose);
  const Handle properties = creation_properties();
  const Handle dataset(require(H5Dcreate2(state_->image, name.c_str(), disk_type(values.dtype()), space,
                                          H5P_DEFAULT, properties, H5P_DEFAULT),
                               "new shard", "create '" + name + "'"),
                       H5Dclose);
  if (values.size() > 0)
    require(H5Dwrite(dataset, memory_type(values.dtype()), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.raw()),
            "new shard", "write '" + name + "'");
}

void ShardImage::create_rows(const std::string& name, int64_t features) {
  State& s = *state_;
  s.rows_name = name;
  s.features = hsize_t(features);
  s.chunk_rows = hsize_t(std::max<int64_t>(1, kChunkBytes / features));
  s.chunk.resize(size_t(s.chunk_rows * s.features) + kChecksumBytes);
  s.create_rows();
}

void ShardImage::append_rows(const Tensor& rows) {
  State& s = *state_;
  ZT_CHECK(rows.dims() == 2 && rows.dtype() == DType::kU8 && rows.dense() &&
               hsize_t(rows.row_size()) == s.features,
           "rows ", rows.shape_text(), ", expected [N, ", s.features, "] u8");
  const auto* from = static_cast<const uint8_t*>(rows.raw());
  for (size_t left = size_t(rows.bytes()); left > 0;) {
    const size_t taken = std::min(left, s.chunk_bytes() - s.held);
    std::memcpy(s.chunk.data() + s.held, from, taken);
    s.held += taken, from += taken, left -= taken;
    if (s.held < s.chunk_bytes()) continue;
    if (s.written == s.places.size()) {
      s.set_rows((s.written + 1) * s.chunk_rows);
      s.place_chunk();
    }
    s.write_chunk();
  }
}

void ShardImage::mark() {
  state_->marked_written = state_->written;
  state_->marked_held = state_->held;
}

void ShardImage::take_back() {
  State& s = *state_;
  if (s.written > s.marked_written) std::copy(s.marked_bytes.begin(), s.marked_bytes.end(), s.chunk.begin());
  s.written = s.marked_written;
  s.held = s.marked_held;
}

void ShardImage::read_marked(const Tensor& rows) const {
  const State& s = *state_;
  auto* to = static_cast<uint8_t*>(rows.raw());
  size_t index = s.marked_written, at = s.marked_held;
  for (size_t left = size_t(rows.bytes()); left > 0; ++index, at = 0) {
    const size_t taken = std::min(left, s.chunk_bytes() - at);
    if (index < s.written) s.file->read_at(to, taken, s.places[index] + at);
    else std::memcpy(to, s.chunk.data() + at, taken);
    to += taken, left -= taken;
  }
}

void ShardImage::end_rows() {
  State& s = *state_;
  if (s.places.size() > s.written) s.drop_spare_chunks();
  s.set_rows(s.num_rows());
}

FinishedImage ShardImage::finish() {
  State& s = *state_;
  if (s.held > 0) {
    s.place_chunk();
    s.write_chunk();
  }
  {
    const LibraryGuard guard;
    require(H5Fflush(s.image, H5F_SCOPE_LOCAL), "new shard", "flush it");
    s.records.freeze();
  }
  for (const auto& [address, bytes] : s.records.pieces())
    s.file->write_at(bytes.data(), bytes.size(), address);
  s.file->resize(s.records.end());
  const std::string hash = s.file->hash_of(s.records.end());
  return {int64_t(s.records.end()), hash, std::move(s.file)};
}

struct ShardFile::State {
  std::string path;
  Handle file;
};

ShardFile::ShardFile(const std::string& path) : state_(std::make_unique<State>()) {
  const LibraryGuard guard;
  state_->path = path;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  // Sealed shards never change, and network file systems often refuse locks.
  H5Pset_file_locking(access, false, true);
  state_->file = {require(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), path, "open it as HDF5"), H5Fclose};
}

ShardFile::~ShardFile() {
  const LibraryGuard guard;
  state_.reset();
}

const std::string& ShardFile::path() const { return state_->path; }

Tensor ShardFile::read(const std::string& name, DType dtype) const {
  const LibraryGuard guard;
  const Handle dataset = open_dataset(state_->file, state_->path, name);
  int dims = 0;
  hsize_t extents[2] = {0, 0};
  extents_of(dataset, state_->path, name, dims, extents);
  Tensor out = dims == 1 ? Tensor::empty({int64_t(extents[0])}, dtype)
                         : Tensor::empty({int64_t(extents[0]), int64_t(extents[1])}, dtype);
  if (out.size() > 0)
    require(H5Dread(dataset, memory_type(dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT, out.raw()), state_->path,
            "read '" + name + "'");
  return out;
}

Tensor ShardFile::read_range(const std::string& name, DType dtype, int64_t begin, int64_t count) const {
  const Tensor out = Tensor::empty({count}, dtype);
  if (count == 0) return out;
  const LibraryGuard guard;
  const Handle dataset = open_dataset(state_->file, state_->path, name);
  const hsize_t start = hsize_t(begin), extent = hsize_t(count);
  const Handle source(H5Dget_space(dataset), H5Sclose);
  require(H5Sselect_hyperslab(source, H5S_SELECT_SET, &start, nullptr, &extent, nullptr), state_->path,
          "select values of '" + name + "'");
  const Handle target(H5Screate_simple(1, &extent, nullptr), H5Sclose);
  require(H5Dread(dataset, memory_type(dtype), target, source, H5P_DEFAULT, out.raw()), state_->path,
          "read '" + name + "'");
  return out;
}

int64_t ShardFile::length_of(const std::string& name) const {
  const LibraryGuard guard;
  int dims = 0;
  hsize_t extents[2] = {0, 0};
  extents_of(open_dataset(state_->file, state_->path, name), state_->path, name, dims, extents);
  ZT_REQUIRE(dims == 1, "'", state_->path, "': '", name, "' has two dimensions, expected one");
  return int64_t(extents[0]);
}

void ShardFile::shape_of_rows(const std::string& name, int64_t& rows, int64_t& features) const {
  const LibraryGuard guard;
  int dims = 0;
  hsize_t extents[2] = {0, 0};
  extents_of(open_dataset(state_->file, state_->path, name), state_->path, name, dims, extents);
  rows = int64_t(extents[0]);
  features = int64_t(extents[1]);
}

void ShardFile::read_rows(const std::string& name, int64_t begin, const Tensor& out) const {
  if (out.size() == 0) return;
  const LibraryGuard guard;
  const Handle dataset = open_dataset(state_->file, state_->path, name);
  const hsize_t start[2] = {hsize_t(begin), 0}, count[2] = {hsize_t(out.rows()), hsize_t(out.row_size())};
  const Handle source(H5Dget_space(dataset), H5Sclose);
  require(H5Sselect_hyperslab(source, H5S_SELECT_SET, start, nullptr, count, nullptr), state_->path,
          "select rows");
  const Handle target(H5Screate_simple(2, count, nullptr), H5Sclose);
  require(H5Dread(dataset, H5T_NATIVE_UINT8, target, source, H5P_DEFAULT, out.raw()), state_->path,
          "read rows " + std::to_string(begin) + " to " + std::to_string(begin + out.rows()) + " of '" +
              name + "' (damaged? 'zoetrope inspect' checks all shards)");
}

}  // namespace zoetrope
