#include "model/checkpoint.h"

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "core/content_hash.h"
#include "core/files.h"

namespace zoetrope {
namespace {

namespace fs = std::filesystem;

/// Views of a flat buffer under the parameters' names, with a prefix.
std::vector<NamedTensor> named_views(const Parameters& parameters, const Tensor& flat,
                                     const std::string& prefix) {
  std::vector<NamedTensor> views;
  for (const Parameter& p : parameters.list())
    views.push_back({prefix + p.name, p.shape, flat.slice_rows(p.offset, p.offset + p.size)});
  return views;
}

std::string text_of(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// Throws: Error naming file, tensor and element when a value is NaN or infinite.
void require_finite(const std::string& path, const std::vector<NamedTensor>& views, const char* consequence) {
  for (const NamedTensor& view : views) {
    const Tensor values = to_host(view.flat);
    const float* begin = values.data<float>();
    const float* end = begin + values.size();
    const float* found = std::find_if(begin, end, [](float value) { return !std::isfinite(value); });
    ZT_REQUIRE(found == end, "'", path, "', tensor '", view.name, "': element ", found - begin, " is ",
               *found, ", not finite", consequence);
  }
}

/// Copies a file's tensors into views, strictly: the same names, shapes and types on both sides, all finite.
void load_into(const std::string& path, const std::vector<NamedTensor>& views) {
  std::map<std::string, NamedTensor> found;
  for (NamedTensor& tensor : read_safetensors(path)) found.emplace(tensor.name, std::move(tensor));
  for (const NamedTensor& view : views) {
    const auto at = found.find(view.name);
    ZT_REQUIRE(at != found.end(), "'", path, "' has no tensor '", view.name,
               "'; it was made with another model config");
    ZT_REQUIRE(at->second.shape == view.shape && at->second.flat.dtype() == view.flat.dtype(), "'", path,
               "', tensor '", view.name, "': found ", text_of(at->second.shape), " ",
               name_of(at->second.flat.dtype()), ", expected ", text_of(view.shape), " ",
               name_of(view.flat.dtype()), "; it was made with another model config");
    copy(view.flat, at->second.flat);
    found.erase(at);
  }
  require_finite(
      path, views,
      "; nothing can be computed with it: remove the checkpoint's folder and go on from an older one");
  ZT_REQUIRE(found.empty(), "'", path, "' holds a tensor '", found.begin()->first,
             "' that this model does not have");
}

struct DoneEntry {
  uint64_t bytes = 0;
  std::string hash;
};

constexpr const char* kDamaged =
    "; the checkpoint is damaged: copy it again, or remove its folder and go on from an older one";

/// DONE lists what the checkpoint is made of, so that a file that was cut, changed or lost is found.
std::string done_text(const fs::path& folder) {
  nlohmann::ordered_json files;
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths)
    files[path.filename().string()] = {{"bytes", fs::file_size(path)}, {"hash", file_content_hash(path)}};
  return nlohmann::ordered_json{{"files", files}}.dump(1) + "\n";
}

/// Throws: Error when DONE is missing or is no such list.
std::map<std::string, DoneEntry> read_done(const std::string& folder) {
  const std::string path = folder + "/DONE";
  ZT_REQUIRE(fs::exists(path), "'", folder, "' is no complete checkpoint: it has no DONE file");
  std::map<std::string, DoneEntry> entries;
  try {
    const nlohmann::json json = nlohmann::json::parse(read_file(path));
    for (const auto& [name, value] : json.at("files").items())
      entries[name] = {value.at("bytes").get<uint64_t>(), value.at("hash").get<std::string>()};
  } catch (const nlohmann::json::exception& error) {
    throw Error(
        join_message("'", path, "' doesn't list the checkpoint's files (", error.what(), ")", kDamaged));
  }
  return entries;
}

/// Throws: Error when the file is not the one that DONE lists.
void verify(const std::string& folder, const std::map<std::string, DoneEntry>& done,
            const std::string& name) {
  const std::string path = folder + "/" + name;
  const auto entry = done.find(name);
  ZT_REQUIRE(entry != done.end(), "'", folder, "/DONE' doesn't list ", name, kDamaged);
  std::error_code error;
  const uint64_t bytes = fs::file_size(path, error);
  ZT_REQUIRE(!error, "can't open '", path, "': ", error.message(), kDamaged);
  ZT_REQUIRE(bytes == entry->second.bytes, "'", path, "' has ", bytes, " bytes, DONE says ",
             entry->second.bytes, kDamaged);
  const std::string hash = file_content_hash(path);
  ZT_REQUIRE(hash == entry->second.hash, "'", path, "' has content hash ", hash, ", DONE says ",
             entry->second.hash, kDamaged);
}

void put_in_place(const fs::path& partial, const fs::path& folder) {
  if (fs::exists(folder)) {  // an older save of the same step: both names change hands at once
    ZT_REQUIRE(renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0,
               "can't exchange '", partial.string(), "' and '", folder.string(), "': ", std::strerror(errno));
    fs::remove_all(partial);
  } else {
    ZT_REQUIRE(std::rename(partial.c_str(), folder.c_str()) == 0, "can't rename '", partial.string(),
               "' to '", folder.string(), "': ", std::strerror(errno));
  }
  sync_path(folder.parent_path());
}

}  // namespace

void save_checkpoint(const std::string& run, const Checkpoint& checkpoint, const Parameters& parameters,
                     const Tensor& first, const Tensor& second, const Tensor& ema) {
  char name[32];
  std::snprintf(name, sizeof name, "step-%06lld", static_cast<long long>(checkpoint.step));
  const fs::path root = fs::path(run) / "checkpoints", folder = root / name,
                 partial = root / (std::string(name) + ".partial");
  const std::vector<NamedTensor> values = named_views(parameters, parameters.values(), "");
  std::vector<NamedTensor> moments = named_views(parameters, first, "first.");
  for (NamedTensor& view : named_views(parameters, second, "second.")) moments.push_back(std::move(view));
  const std::vector<NamedTensor> averages =
      ema.defined() ? named_views(parameters, ema, "") : std::vector<NamedTensor>{};
  for (const auto& [file, views] : {std::pair{"/model.safetensors", &values},
                                    {"/optimizer.safetensors", &moments},
                                    {"/ema.safetensors", &averages}})
    require_finite(folder.string() + file, *views,
                   ", so it is not saved; the learning rate may be too high. Earlier checkpoints stay");
  std::error_code failed;
  fs::create_directories(root, failed);
  ZT_REQUIRE(!failed, "can't create '", root.string(), "': ", failed.message());
  fs::remove_all(partial, failed);
  ZT_REQUIRE(fs::create_directory(partial, failed), "can't create '", partial.string(),
             "': ", failed.message());
  struct GiveRoomBack {  // a full disk: the next checkpoint may fit, or a smaller file of another program
    const fs::path& partial;
    ~GiveRoomBack() {
      std::error_code ignored;
      fs::remove_all(partial, ignored);  // not there any more once it is in place
    }
  } const give_room_back{partial};
  const std::map<std::string, std::string> metadata{{"format", "zoetrope"},
                                                    {"step", std::to_string(checkpoint.step)}};
  write_safetensors(partial / "model.safetensors", values, metadata);
  write_safetensors(partial / "optimizer.safetensors", moments, metadata);
  if (ema.defined()) write_safetensors(partial / "ema.safetensors", averages, metadata);
  write_file_atomically(partial / "state.json", checkpoint.state_json);
  write_file_atomically(partial / "DONE", done_text(partial));
  put_in_place(partial, folder);
}

Checkpoint read_checkpoint_state(const std::string& folder) {
  verify(folder, read_done(folder), "state.json");
  Checkpoint checkpoint;
  checkpoint.state_json = read_file((fs::path(folder) / "state.json").string());
  const std::string name = fs::path(folder).lexically_normal().filename().string();
  std::smatch match;
  if (std::regex_match(name, match, std::regex("step-([0-9]{6,18})"))) checkpoint.step = std::stoll(match[1]);
  return checkpoint;
}

Checkpoint load_checkpoint(const std::string& folder, const Parameters& parameters, const Tensor& first,
                           const Tensor& second, const Tensor& ema) {
  Checkpoint checkpoint = read_checkpoint_state(folder);
  const std::map<std::string, DoneEntry> done = read_done(folder);
  const auto load = [&](const std::string& name, const std::vector<NamedTensor>& views) {
    verify(folder, done, name);
    load_into(folder + "/" + name, views);
  };
  load("model.safetensors", named_views(parameters, parameters.values(), ""));
  std::vector<NamedTensor> moments = named_views(parameters, first, "first.");
  for (NamedTensor& view : named_views(parameters, second, "second.")) moments.push_back(std::move(view));
  load("optimizer.safetensors", moments);
  if (ema.defined()) {
    ZT_REQUIRE(done.count("ema.safetensors") > 0, "'", folder,
               "' has no EMA weights, but 'optimisation.ema-decay' turns them on");
    load("ema.safetensors", named_views(parameters, ema, ""));
  }
  return checkpoint;
}

Checkpoint load_weights(const std::string& folder, const Parameters& parameters, bool use_ema,
                        bool* used_ema) {
  Checkpoint checkpoint = read_checkpoint_state(folder);
  const std::map<std::string, DoneEntry> done = read_done(folder);
  const bool ema = use_ema && done.count("ema.safetensors") > 0;
  const std::string name = ema ? "ema.safetensors" : "model.safetensors";
  verify(folder, done, name);
  load_into(folder + "/" + name, named_views(parameters, parameters.values(), ""));
  if (used_ema) *used_ema = ema;
  return checkpoint;
}

std::vector<std::string> list_checkpoints(const std::string& run) {
  std::vector<std::pair<int64_t, std::string>> found;
  const fs::path root = fs::path(run) / "checkpoints";
  if (fs::is_directory(root)) {
    const std::regex pattern("step-([0-9]{6,18})");
    for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
      std::smatch match;
      const std::string name = entry.path().filename().string();
      if (std::regex_match(name, match, pattern) && fs::exists(entry.path() / "DONE"))
        found.emplace_back(std::stoll(match[1]), entry.path().string());
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> folders;
  for (auto& [step, folder] : found) folders.push_back(std::move(folder));
  return folders;
}

}  // namespace zoetrope
