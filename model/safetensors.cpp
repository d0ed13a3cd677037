// The safetensors format: 8-byte little-endian header length, JSON header, raw tensors.
// Source: github.com/huggingface/safetensors, "Format".
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "model/checkpoint.h"

namespace zoetrope {
namespace {

constexpr uint64_t kLargestHeader = 100u << 20;  // the format's own limit: 100 MB

const char* format_name(DType dtype) {
  switch (dtype) {
    case DType::kF32: return "F32";
    case DType::kBF16: return "BF16";
    case DType::kF64: return "F64";
    case DType::kU8: return "U8";
    case DType::kI32: return "I32";
    case DType::kI64: return "I64";
  }
  return "?";
}

DType dtype_from(const std::string& name, const std::string& where) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF64, DType::kU8, DType::kI32, DType::kI64})
    if (name == format_name(dtype)) return dtype;
  throw Error(join_message(where, ": element type '", name, "', expected F32, BF16, F64, U8, I32 or I64"));
}

struct Entry {
  std::string name;
  std::vector<int64_t> shape;
  DType dtype = DType::kF32;
  uint64_t begin = 0, end = 0;
};

Entry parse_entry(const std::string& name, const nlohmann::json& json, uint64_t data_bytes,
                  const std::string& path) {
  const std::string where = "'" + path + "', tensor '" + name + "'";
  Entry entry;
  entry.name = name;
  entry.dtype = dtype_from(json.at("dtype"), where);
  entry.shape = json.at("shape").get<std::vector<int64_t>>();
  const auto offsets = json.at("data_offsets").get<std::vector<uint64_t>>();
  ZT_REQUIRE(offsets.size() == 2, where, ": data_offsets of ", offsets.size(), " numbers, expected 2");
  entry.begin = offsets[0];
  entry.end = offsets[1];
  uint64_t elements = 1;
  for (int64_t extent : entry.shape) {
    ZT_REQUIRE(extent >= 0 && (extent == 0 || elements <= data_bytes / uint64_t(extent) + 1), where,
               ": impossible shape");
    elements *= uint64_t(extent);
  }
  ZT_REQUIRE(entry.begin <= entry.end && entry.end <= data_bytes &&
                 entry.end - entry.begin == elements * size_of(entry.dtype),
             where, ": bytes [", entry.begin, ", ", entry.end, ") of ", data_bytes, ", its shape needs ",
             elements * size_of(entry.dtype), "; the file is damaged or cut short");
  return entry;
}

}  // namespace

void write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    const uint64_t end = offset + uint64_t(tensor.flat.bytes());
    header[tensor.name] = {{"dtype", format_name(tensor.flat.dtype())},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const OpenFile file(path, OpenFile::Mode::kReplace);
  const uint64_t length = text.size();
  file.write(&length, sizeof length);
  file.write(text);
  for (const NamedTensor& tensor : tensors) {
    ZT_CHECK(tensor.flat.dense(), "tensor '", tensor.name, "' is strided");
    const Tensor values = to_host(tensor.flat);
    file.write(values.raw(), size_t(values.bytes()));
  }
  file.sync();
}

std::vector<NamedTensor> read_safetensors(const std::string& path,
                                          std::map<std::string, std::string>* metadata) {
  const OpenFile file(path, OpenFile::Mode::kRead);
  const uint64_t size = file.size();
  uint64_t length = 0;
  ZT_REQUIRE(size >= sizeof length, "'", path, "' has ", size, " bytes: no safetensors file");
  file.read_at(&length, sizeof length, 0);
  ZT_REQUIRE(length <= kLargestHeader && length <= size - sizeof length, "'", path, "': header of ", length,
             " bytes in a file of ", size, "; no safetensors file, or cut short");
  std::string text(length, '\0');
  file.read_at(text.data(), text.size(), sizeof length);
  const uint64_t start = sizeof length + length;
  std::vector<Entry> entries;
  try {
    const nlohmann::json header = nlohmann::json::parse(text);
    ZT_REQUIRE(header.is_object(), "'", path, "': the header is no JSON object");
    for (const auto& [name, value] : header.items()) {
      if (name == "__metadata__") {
        if (metadata) *metadata = value.get<std::map<std::string, std::string>>();
      } else {
        entries.push_back(parse_entry(name, value, size - start, path));
      }
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error(join_message("'", path, "': unreadable safetensors header: ", error.what()));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.begin < b.begin; });
  std::vector<NamedTensor> tensors;
  uint64_t covered = 0;
  for (const Entry& entry : entries) {
    ZT_REQUIRE(entry.begin == covered, "'", path, "', tensor '", entry.name, "' starts at byte ", entry.begin,
               ", expected ", covered, ": tensors overlap or leave a gap");
    covered = entry.end;
    NamedTensor tensor{
        entry.name, entry.shape,
        Tensor::empty({int64_t((entry.end - entry.begin) / size_of(entry.dtype))}, entry.dtype)};
    file.read_at(tensor.flat.raw(), size_t(entry.end - entry.begin), start + entry.begin);
    tensors.push_back(std::move(tensor));
  }
  ZT_REQUIRE(covered == size - start, "'", path, "': ", size - start - covered,
             " bytes after the last tensor");
  return tensors;
}

}  // namespace zoetrope
