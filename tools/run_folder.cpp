#include "tools/run_folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/files.h"
#include "model/checkpoint.h"
#include "tools/version.h"

namespace zoetrope {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const OptionTarget& target) {
  return std::visit(
      []<class T>(T* value) {
        if constexpr (std::is_same_v<T, bool>) return std::string(*value ? "true" : "false");
        else return Json(*value).dump();
      },
      target);
}

/// Tables whose values change what is learned; the rest says how it is computed or kept.
bool decides_result(const Option& option) {
  static const std::set<std::string> tables{"model", "flow", "optimisation", "numerics"};
  return tables.count(option.table) > 0 || option.name == "batch";
}

Json cost_to_json(const CostModel& cost) {
  Json json;
  CostModel copy = cost;
  copy.visit([&](const char* name, auto& value, const char*, auto&&...) { json[name] = value; });
  return json;
}

CostModel cost_from_json(const Json& json) {
  CostModel cost;
  cost.visit([&]<class T>(const char* name, T& value, const char*, auto&&...) {
    value = json.at(name).template get<T>();
  });
  return cost;
}

/// Every field of the state under its name in the file, but for the cost set.
template <class State, class Field>
void visit_fields(State& s, Field&& field) {
  field("step", s.step);
  field("draws", s.draws);
  field("tokens_per_slot", s.cluster.tokens_per_slot);
  field("segments_per_slot", s.cluster.segments_per_slot);
  field("memory_per_rank", s.memory_per_rank);
  field("ranks", s.ranks);
  field("threads_per_rank", s.threads_per_rank);
  field("config", s.config_toml);
  field("data_fingerprint", s.data_fingerprint);
  field("version", s.version);
  field("kernels", s.kernels);
  field("changes", s.changes);
}

bool allowed(const std::vector<std::string>& changes, const char* what) {
  return std::find(changes.begin(), changes.end(), what) != changes.end();
}

}  // namespace

std::string to_json(const RunState& s) {
  Json json;
  json["format"] = 1;
  visit_fields(s, [&](const char* name, const auto& value) { json[name] = value; });
  json["cost"] = cost_to_json(s.cost);
  json["cost_hash"] = hex64(hash_of(s.cost));
  return json.dump(1) + "\n";
}

RunState run_state_from_json(const std::string& text, const std::string& source) {
  try {
    const Json json = Json::parse(text);
    ZT_REQUIRE(json.at("format") == 1, "'", source, "': state format ", json.at("format").dump(),
               ", expected 1");
    RunState s;
    visit_fields(s, [&]<class T>(const char* name, T& value) { value = json.at(name).template get<T>(); });
    s.cost = cost_from_json(json.at("cost"));
    s.cluster.num_slots = s.ranks;
    return s;
  } catch (const nlohmann::json::exception& error) {
    throw Error(join_message("'", source, "': not a state of this program: ", error.what()));
  }
}

std::string find_resume(const std::string& run, const std::string& resume) {
  namespace fs = std::filesystem;
  const std::vector<std::string> existing =
      fs::exists(run) ? list_checkpoints(run) : std::vector<std::string>{};
  if (resume.empty()) {
    if (!existing.empty())
      throw UsageError(join_message("'", run, "' already holds checkpoints (newest: ", existing.back(),
                                    "); use --resume auto to go on from it, or another --run folder"));
    return "";
  }
  if (resume == "auto") return existing.empty() ? "" : existing.back();
  if (!fs::exists(fs::path(resume) / "DONE"))
    throw UsageError(join_message("--resume '", resume,
                                  "' is no complete checkpoint: it has no DONE file; expected "
                                  "'auto' or a folder like RUN/checkpoints/step-000020"));
  std::error_code ignored;
  if (!existing.empty() && !fs::equivalent(resume, existing.back(), ignored))
    throw UsageError(
        join_message("--resume '", resume, "', but '", run, "' already goes on to ", existing.back(),
                     ": two courses would mix there; use --resume auto, give another --run, or remove the "
                     "newer checkpoints"));
  return resume;
}

std::vector<std::string> check_resume(const RunState& saved, const TrainConfig& config,
                                      const std::string& data_fingerprint, const CostModel& given_cost,
                                      const Command& command, const std::vector<std::string>& changes) {
  std::vector<std::string> changed;
  const auto differ = [&](const char* what, const std::string& key, const std::string& was,
                          const std::string& is) {
    if (!allowed(changes, what))
      throw UsageError(join_message("the checkpoint at step ", saved.step, " was made with ", key, " = ", was,
                                    ", now it is ", is, "; use the saved value, or --change ", what,
                                    " to go on with the new one"));
    changed.push_back(join_message("step ", saved.step, ": ", key, " ", was, " -> ", is));
  };
  TrainConfig before, now = config;
  OptionSet before_set, now_set;
  before.add_to(before_set);
  now.add_to(now_set);
  load_toml_text(before_set, saved.config_toml, "config of the checkpoint");
  for (size_t i = 0; i < now_set.options().size(); ++i) {
    const Option& a = before_set.options()[i];
    const Option& b = now_set.options()[i];
    if (decides_result(b) && text_of(a.target) != text_of(b.target))
      differ("config", "'" + b.table + "." + b.name + "'", text_of(a.target), text_of(b.target));
  }
  if (saved.data_fingerprint != data_fingerprint)
    differ("data", "data set", saved.data_fingerprint, data_fingerprint);
  if (command.was_given("cost") && hash_of(given_cost) != hash_of(saved.cost))
    differ("cost", "cost set", saved.cost.name + " (" + hex64(hash_of(saved.cost)) + ")",
           given_cost.name + " (" + hex64(hash_of(given_cost)) + ")");
  if (command.was_given("memory-per-rank") && config.plan.memory_per_rank != saved.memory_per_rank)
    differ("memory", "memory per rank", std::to_string(saved.memory_per_rank),
           std::to_string(config.plan.memory_per_rank));
  return changed;
}

void write_run_files(const std::string& run, const std::string& config_toml,
                     const std::string& data_fingerprint) {
  std::error_code error;
  std::filesystem::create_directories(run, error);
  ZT_REQUIRE(!error, "can't make the run folder '", run, "': ", error.message());
  write_file_atomically(run + "/config.toml", config_toml);
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string line((std::istreambuf_iterator<char>(file)), {});
  Json words = Json::array();
  std::istringstream parts(line);
  for (std::string word; std::getline(parts, word, '\0');) words.push_back(word);
  Json info;
  info["version"] = kVersion;
  info["command_line"] = words;
  info["data_fingerprint"] = data_fingerprint;
  write_file_atomically(run + "/run.json", info.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

void prune_checkpoints(const std::string& run, int64_t keep) {
  namespace fs = std::filesystem;
  if (keep > 0) {
    const std::vector<std::string> all = list_checkpoints(run);
    for (size_t i = 0; i + size_t(keep) < all.size(); ++i) {
      // The name goes first: a crash in between leaves an unfinished folder, which the next start removes.
      const std::string doomed = all[i] + ".partial";
      fs::remove_all(doomed);
      fs::rename(all[i], doomed);
      fs::remove_all(doomed);
    }
  }
}

}  // namespace zoetrope
