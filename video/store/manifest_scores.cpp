#include "video/store/manifest_scores.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace zoetrope {
namespace {

using Json = nlohmann::ordered_json;

/// Name and member of each figure.
struct ScoreField {
  const char* name;
  double ClipScores::*member;
};
constexpr ScoreField kFields[] = {
    {"motion", &ClipScores::motion},         {"frozen", &ClipScores::frozen},
    {"brightness", &ClipScores::brightness}, {"contrast", &ClipScores::contrast},
    {"black", &ClipScores::black},           {"sharpness", &ClipScores::sharpness},
    {"letterbox", &ClipScores::letterbox},   {"combed", &ClipScores::combed}};

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
double number_of(const Json& json) { return json.is_null() ? ClipScores::kUnknown : json.get<double>(); }

}  // namespace

std::string analysis_text(const ClipAnalysis& analysis) {
  Json line = Json::object();
  if (analysis.has_window) line["window"] = {number(analysis.window_start), number(analysis.window_end)};
  if (analysis.filtered) line["filtered"] = true;
  if (analysis.has_scores) {
    Json& scores = line["scores"];
    for (const ScoreField& field : kFields) scores[field.name] = number(analysis.scores.*field.member);
    scores["bars"] = analysis.scores.bars;
  }
  if (!analysis.frames_hash.empty())
    line["hashes"] = {{"frames", analysis.frames_hash}, {"seconds", analysis.frame_hashes}};
  const DuplicateOf& duplicate = analysis.duplicate;
  if (!duplicate.name.empty())
    line["duplicate"] = {{"of", duplicate.name}, {"kind", duplicate.kind}, {"matched", duplicate.matched}};
  return line.dump();
}

ClipAnalysis parse_analysis(const std::string& text) {
  const Json line = Json::parse(text);
  ClipAnalysis analysis;
  analysis.has_window = line.contains("window");
  if (analysis.has_window) {
    analysis.window_start = number_of(line["window"].at(0));
    analysis.window_end = number_of(line["window"].at(1));
  }
  analysis.filtered = line.value("filtered", false);
  analysis.has_scores = line.contains("scores");
  if (analysis.has_scores) {
    const Json& scores = line["scores"];
    for (const ScoreField& field : kFields) analysis.scores.*field.member = number_of(scores.at(field.name));
    analysis.scores.bars = scores.at("bars");
  }
  if (line.contains("hashes")) {
    analysis.frames_hash = line["hashes"].at("frames");
    analysis.frame_hashes = line["hashes"].at("seconds").get<std::vector<std::string>>();
  }
  if (line.contains("duplicate")) {
    const Json& duplicate = line["duplicate"];
    analysis.duplicate = {duplicate.at("of"), duplicate.at("kind"), duplicate.at("matched")};
  }
  return analysis;
}

}  // namespace zoetrope
