#include "video/store/manifest.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/files.h"
#include "core/shallow_json.h"

namespace zoetrope {
namespace {

using Json = nlohmann::ordered_json;

Json seconds(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
double seconds_of(const Json& value) { return value.is_number() ? value.get<double>() : kUnknownSeconds; }
Json count_or_null(int64_t value) { return value < 0 ? Json(nullptr) : Json(value); }

Json json_of(const SourceFacts& f) {
  return {{"container", f.container},
          {"codec", f.codec},
          {"counts",
           {{"declared", count_or_null(f.declared)},
            {"packets", f.packets},
            {"decoded", f.decoded},
            {"damaged", f.damaged},
            {"presented", f.presented},
            {"used", f.used},
            {"interlaced", f.interlaced},
            {"jumps", f.jumps},
            {"out_of_order", f.out_of_order},
            {"size_changes", f.size_changes},
            {"format_changes", f.format_changes}}},
          {"coded_size", {f.width, f.height}},
          {"shown_size", {f.shown_width, f.shown_height}},
          {"pixel_aspect", f.pixel_aspect},
          {"rotation", f.rotation},
          {"mirrored", f.mirrored},
          {"average_fps", f.average_fps},
          {"color",
           {{"matrix", f.color_matrix},
            {"range", f.color_range},
            {"guessed", f.color_guessed},
            {"steps", f.color_steps}}},
          {"clocks",
           {{"time_base", f.time_base},
            {"first", seconds(f.first_seconds)},
            {"last", seconds(f.last_seconds)},
            {"stream_start", seconds(f.stream_start)},
            {"stream_duration", seconds(f.stream_duration)},
            {"container_start", seconds(f.container_start)},
            {"container_duration", seconds(f.container_duration)},
            {"audio_duration", seconds(f.audio_duration)}}},
          {"crop_loss", f.crop_loss}};
}

SourceFacts facts_of(const Json& j) {
  SourceFacts f;
  f.container = j.at("container");
  f.codec = j.at("codec");
  const Json& counts = j.at("counts");
  f.declared = counts.at("declared").is_null() ? -1 : counts.at("declared").get<int64_t>();
  f.packets = counts.at("packets");
  f.decoded = counts.at("decoded");
  f.damaged = counts.at("damaged");
  f.presented = counts.at("presented");
  f.used = counts.at("used");
  f.interlaced = counts.at("interlaced");
  f.jumps = counts.value("jumps", int64_t(0));
  f.out_of_order = counts.at("out_of_order");
  f.size_changes = counts.value("size_changes", int64_t(0));
  f.format_changes = counts.value("format_changes", int64_t(0));
  f.width = j.at("coded_size").at(0);
  f.height = j.at("coded_size").at(1);
  f.shown_width = j.at("shown_size").at(0);
  f.shown_height = j.at("shown_size").at(1);
  f.pixel_aspect = j.at("pixel_aspect");
  f.rotation = j.at("rotation");
  f.mirrored = j.at("mirrored");
  f.average_fps = j.at("average_fps");
  f.color_matrix = j.at("color").at("matrix");
  f.color_range = j.at("color").at("range");
  f.color_guessed = j.at("color").at("guessed");
  f.color_steps = j.at("color").value("steps", "");
  const Json& clocks = j.at("clocks");
  f.time_base = clocks.value("time_base", f.time_base);
  f.first_seconds = seconds_of(clocks.at("first"));
  f.last_seconds = seconds_of(clocks.at("last"));
  f.stream_start = seconds_of(clocks.at("stream_start"));
  f.stream_duration = seconds_of(clocks.at("stream_duration"));
  f.container_start = seconds_of(clocks.at("container_start"));
  f.container_duration = seconds_of(clocks.at("container_duration"));
  f.audio_duration = seconds_of(clocks.at("audio_duration"));
  f.crop_loss = j.at("crop_loss");
  return f;
}

/// Length of the UTF-8 sequence at `at`, 0 when there is none. Overlong forms and surrogates are none.
size_t utf8_length(const std::string& text, size_t at) {
  const uint8_t first = uint8_t(text[at]);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 && first <= 0xf4  ? 4
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xc2 && first < 0xe0 ? 2
                                                        : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((uint8_t(text[at + i]) & 0xc0) != 0x80) return 0;
  const uint8_t second = uint8_t(text[at + 1]);
  const bool bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                   (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
  return bad ? 0 : length;
}

}  // namespace

std::string printable_name(const std::string& bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = utf8_length(bytes, at);
    const bool control = uint8_t(bytes[at]) < 0x20 || bytes[at] == 0x7f;
    if (length > 0 && !control) {
      out.append(bytes, at, length);
      at += length;
    } else {
      const uint8_t byte = uint8_t(bytes[at++]);
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

bool is_utf8(const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = utf8_length(bytes, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string manifest_line(const ManifestEntry& entry, bool with_clock) {
  Json line = {{"name", entry.name}, {"verdict", entry.verdict}, {"reason", entry.reason}};
  if (entry.found_damage) line["damage"] = true;
  if (entry.skipped) line["skipped"] = true;
  if (entry.repeats != 1) line["repeats"] = entry.repeats;
  line["source"] = {{"bytes", count_or_null(entry.source_bytes)},
                    {"hash", entry.source_hash},
                    {"caption_hash", entry.caption_hash}};
  if (with_clock) line["modified_ns"] = entry.modified_ns;
  if (entry.has_sample()) {
    line["shard"] = entry.shard;
    line["row"] = entry.row;
    line["frames"] = entry.num_frames;
    line["size"] = {entry.width, entry.height};
    line["grid"] = entry.grid;
    line["tokens"] = entry.num_tokens;
  }
  line.update(Json::parse(analysis_text(entry.analysis)));
  if (entry.has_facts) line.update(json_of(entry.facts));
  return line.dump();
}

ManifestEntry parse_manifest_line(const std::string& text, const std::string& where) {
  require_shallow_json(text, where);
  try {
    const Json line = Json::parse(text);
    ManifestEntry entry;
    entry.name = line.at("name");
    entry.verdict = line.at("verdict");
    entry.reason = line.at("reason");
    entry.found_damage = line.value("damage", false);
    entry.skipped = line.value("skipped", false);
    entry.repeats = line.value("repeats", int64_t(1));
    const Json& source = line.at("source");
    entry.source_bytes = source.at("bytes").is_null() ? -1 : source.at("bytes").get<int64_t>();
    entry.source_hash = source.at("hash");
    entry.caption_hash = source.at("caption_hash");
    entry.modified_ns = line.value("modified_ns", int64_t(0));
    if (entry.has_sample()) {
      entry.shard = line.at("shard");
      entry.row = line.at("row");
      entry.num_frames = line.at("frames");
      entry.width = line.at("size").at(0);
      entry.height = line.at("size").at(1);
      entry.grid = line.at("grid");
      entry.num_tokens = line.at("tokens");
    }
    entry.analysis = parse_analysis(text);
    entry.has_facts = line.contains("counts");
    if (entry.has_facts) entry.facts = facts_of(line);
    return entry;
  } catch (const Json::exception& error) {
    throw Error(join_message(where, ": not a line of a manifest: ", error.what()));
  }
}

std::vector<ManifestEntry> read_manifest(const std::string& path) {
  std::istringstream in(read_file(path));
  std::vector<ManifestEntry> entries;
  for (std::string line; std::getline(in, line);)
    entries.push_back(parse_manifest_line(line, join_message("'", path, "' line ", entries.size() + 1)));
  return entries;
}

}  // namespace zoetrope
