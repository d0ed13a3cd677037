#include "video/store/journal.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/files.h"
#include "core/shallow_json.h"

namespace zoetrope {
namespace {

using Json = nlohmann::ordered_json;

std::string rules_line(const std::string& rules) {
  return Json{{"zoetrope_ingest", 1}, {"rules", Json::parse(rules)}}.dump() + "\n";
}

std::string batch_text(const std::vector<ManifestEntry>& entries, const JournalBatch& batch) {
  std::string text;
  for (const ManifestEntry& entry : entries) text += manifest_line(entry, true) + "\n";
  const Json shard = batch.has_shard ? Json::parse(shard_record_text(batch.shard)) : Json(nullptr);
  return text + Json{{"batch_end", shard}}.dump() + "\n";
}

/// Takes one line into the journal; false when the line is torn or foreign.
bool take_line(const std::string& line, Journal& journal) {
  try {
    require_shallow_json(line, "journal");
    const Json json = Json::parse(line);
    if (!json.is_object()) return false;
    if (json.contains("batch_end")) {
      JournalBatch batch{int64_t(journal.entries.size()), !json.at("batch_end").is_null(), {}};
      if (batch.has_shard) batch.shard = parse_shard_record(json.at("batch_end").dump());
      journal.batches.push_back(batch);
    } else {
      journal.entries.push_back(parse_manifest_line(line, "journal"));
    }
  } catch (const std::exception&) { return false; }
  return true;
}

}  // namespace

std::string journal_path(const std::string& folder) { return folder + "/manifest.jsonl.partial"; }

Journal read_journal(const std::string& folder) {
  const std::string path = journal_path(folder), text = read_file(path);
  Journal journal;
  size_t at = text.find('\n');
  require_shallow_json(std::string_view(text).substr(0, at), "'" + path + "'");
  const Json first = Json::parse(text.substr(0, at), nullptr, false);
  ZT_REQUIRE(at != std::string::npos && first.is_object() && first.contains("zoetrope_ingest") &&
                 first["zoetrope_ingest"] == 1 && first.contains("rules"),
             "'", path, "' is not the journal of an unfinished data set; remove it or choose another folder");
  journal.rules = first.at("rules").dump();
  for (++at; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (end == std::string::npos || !take_line(text.substr(at, end - at), journal)) break;
    at = end + 1;
  }
  journal.entries.resize(journal.batches.empty() ? 0 : size_t(journal.batches.back().end));
  return journal;
}

void replace_journal(const std::string& folder, const Journal& journal) {
  std::string text = rules_line(journal.rules);
  int64_t begin = 0;
  for (const JournalBatch& batch : journal.batches) {
    text += batch_text({journal.entries.begin() + begin, journal.entries.begin() + batch.end}, batch);
    begin = batch.end;
  }
  write_file_atomically(folder + "/journal", text);
  ZT_REQUIRE(std::rename((folder + "/journal").c_str(), journal_path(folder).c_str()) == 0, "can't rename '",
             folder, "/journal' to '", journal_path(folder), "': ", std::strerror(errno));
  sync_path(folder);
}

void append_to_journal(const std::string& folder, const std::vector<ManifestEntry>& entries,
                       const JournalBatch& batch) {
  const OpenFile file(journal_path(folder), OpenFile::Mode::kAppend);
  file.write(batch_text(entries, batch));
  file.sync();
}

}  // namespace zoetrope
