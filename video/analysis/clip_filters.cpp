#include "video/analysis/clip_filters.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/check.h"

namespace zoetrope {
namespace {

/// One filter: its option, what it measures, and which side it refuses.
struct Filter {
  const char *option, *what;
  double ClipFilters::*limit;
  double ClipScores::*score;  ///< null: the clip's seconds
  bool refuses_less;
  double most;  ///< largest limit that makes sense
};
constexpr double kAny = 1e9;
constexpr Filter kFilters[] = {
    {"min-seconds", "too short: seconds", &ClipFilters::min_seconds, nullptr, true, kAny},
    {"drop-black", "black: share of black frames", &ClipFilters::drop_black, &ClipScores::black, false, 1},
    {"drop-static", "static: share of frozen time", &ClipFilters::drop_static, &ClipScores::frozen, false, 1},
    {"min-motion", "too little motion: levels per second", &ClipFilters::min_motion, &ClipScores::motion,
     true, kAny},
    {"drop-blurred", "blurred: sharpness", &ClipFilters::drop_blurred, &ClipScores::sharpness, true, kAny},
    {"drop-letterbox", "letterbox: share of dark bars", &ClipFilters::drop_letterbox, &ClipScores::letterbox,
     false, 1},
    {"drop-combed", "interlaced: share of combed pixels", &ClipFilters::drop_combed, &ClipScores::combed,
     false, 1}};

}  // namespace

void check_filters(const ClipFilters& filters) {
  for (const Filter& filter : kFilters) {
    const double limit = filters.*filter.limit;
    if (!std::isnan(limit) && !(limit > 0 && limit <= filter.most))
      throw UsageError(
          join_message("--", filter.option, " ", limit, ": expected more than 0 and at most ", filter.most));
  }
}

std::string filters_text(const ClipFilters& filters) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Filter& filter : kFilters)
    if (!std::isnan(filters.*filter.limit)) json[filter.option] = filters.*filter.limit;
  return json.dump();
}

std::string filter_reason(const ClipFilters& filters, const ClipScores& scores, double seconds) {
  for (const Filter& filter : kFilters) {
    const double limit = filters.*filter.limit;
    const double score = filter.score == nullptr ? seconds : scores.*filter.score;
    // A comparison with NaN, an unknown score or a limit that is off, is false.
    if (filter.refuses_less ? score < limit : score >= limit)
      return join_message(filter.what, " ", score, filter.refuses_less ? " is less than --" : " reaches --",
                          filter.option, " ", limit);
  }
  return "";
}

}  // namespace zoetrope
