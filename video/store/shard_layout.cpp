#include "video/store/shard_layout.h"

#include <hdf5.h>

#include "core/check.h"

namespace zoetrope::shard_layout {
namespace {

constexpr int kMaxDims = 2;

/// An identifier of the library that is closed with the object.
struct Closing {
  hid_t id;
  herr_t (*close)(hid_t);
  Closing(hid_t opened, herr_t (*closer)(hid_t)) : id(opened), close(closer) {}
  ~Closing() {
    if (id >= 0) close(id);
  }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;
};

/// What is wrong with where and how the values are stored; empty when nothing is.
std::string storage_problem(hid_t properties) {
  const H5D_layout_t layout = H5Pget_layout(properties);
  if (layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED && layout != H5D_COMPACT)
    return "its values lie in other arrays or files";
  if (H5Pget_external_count(properties) != 0) return "its values lie in other files";
  for (int i = 0; i < H5Pget_nfilters(properties); ++i) {
    unsigned flags = 0, config = 0;
    size_t values = 0;
    const H5Z_filter_t filter =
        H5Pget_filter2(properties, unsigned(i), &flags, &values, nullptr, 0, nullptr, &config);
    if (filter != H5Z_FILTER_FLETCHER32)
      return join_message("it is stored through filter ", filter, ", expected checksums alone");
  }
  return "";
}

/// Whether extents times `element_bytes` are at most `bytes`, without overflow.
bool fits(const hsize_t* extents, int dims, int64_t element_bytes, int64_t bytes) {
  hsize_t left = hsize_t(bytes) / hsize_t(element_bytes);
  for (int i = 0; i < dims; ++i) {
    if (extents[i] == 0) return true;
    left /= extents[i];
    if (left == 0) return false;
  }
  return true;
}

/// What is wrong with its size.
std::string size_problem(hid_t dataset, hid_t properties, int64_t element_bytes, int64_t file_bytes) {
  const Closing space(H5Dget_space(dataset), H5Sclose);
  const int dims = H5Sget_simple_extent_ndims(space.id);
  if (dims < 1 || dims > kMaxDims) return join_message("it has ", dims, " dimensions, expected 1 or 2");
  hsize_t extents[kMaxDims] = {0, 0};
  if (H5Sget_simple_extent_dims(space.id, extents, nullptr) < 0) return "its size can't be read";
  if (!fits(extents, dims, element_bytes, file_bytes))
    return join_message("it claims ", extents[0], " x ", dims == 2 ? extents[1] : 1, " values of ",
                        element_bytes, " bytes, the whole file has ", file_bytes, " bytes");
  if (H5Pget_layout(properties) != H5D_CHUNKED) return "";
  hsize_t chunk[kMaxDims] = {0, 0};
  // A chunk may be bigger than a file with few rows, not than one that could ever be written so.
  constexpr int64_t kLargestChunk = 64 << 20;
  if (H5Pget_chunk(properties, kMaxDims, chunk) != dims || !fits(chunk, dims, element_bytes, kLargestChunk))
    return join_message("its chunks of ", chunk[0], " x ", chunk[1], " values are too big");
  return "";
}

/// Bytes of one value; 0 when it is no plain number.
int64_t number_bytes(hid_t dataset) {
  const Closing type(H5Dget_type(dataset), H5Tclose);
  const H5T_class_t kind = H5Tget_class(type.id);
  const size_t bytes = H5Tget_size(type.id);
  return (kind == H5T_INTEGER || kind == H5T_FLOAT) && bytes <= 8 ? int64_t(bytes) : 0;
}

}  // namespace

void require_own_link(int64_t file, const std::string& path, const std::string& name) {
  H5L_info_t info;
  ZT_REQUIRE(H5Lget_info(file, name.c_str(), &info, H5P_DEFAULT) >= 0, "'", path, "': no array '", name,
             "'; the shard is damaged");
  ZT_REQUIRE(info.type == H5L_TYPE_HARD, "'", path, "': '", name,
             "' is a link to elsewhere, which is not followed");
}

void require_plain(int64_t file, int64_t dataset, const std::string& path, const std::string& name) {
  const Closing properties(H5Dget_create_plist(dataset), H5Pclose);
  std::string problem = properties.id < 0 ? "its properties can't be read" : storage_problem(properties.id);
  const int64_t element_bytes = number_bytes(dataset);
  hsize_t file_bytes = 0;
  if (problem.empty() && element_bytes == 0) problem = "it holds no plain numbers";
  if (problem.empty() && H5Fget_filesize(file, &file_bytes) < 0) problem = "the file's size can't be read";
  if (problem.empty()) problem = size_problem(dataset, properties.id, element_bytes, int64_t(file_bytes));
  ZT_REQUIRE(problem.empty(), "'", path, "': '", name, "' is no array of a shard: ", problem);
}

}  // namespace zoetrope::shard_layout
