#include "tools/inspect_verify.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/check.h"
#include "core/log.h"
#include "tools/progress_line.h"
#include "video/store/verify.h"

namespace zoetrope {
namespace {

using Json = nlohmann::ordered_json;

std::string advice_for(const std::string& dataset, const VerifyReport& report) {
  if (report.sound()) return "";
  if (report.index_is_damaged)
    return join_message("the index is damaged: remove '", dataset,
                        "' and make it again, or copy it again from where it is sound");
  return join_message(
      "run the 'zoetrope ingest SOURCE ", dataset, "' that made it again with --repair: it makes the ",
      report.damaged_shards,
      " damaged shards anew, byte for byte, and decodes only their clips; a merged data set: run "
      "its 'zoetrope merge' again; or copy these files again");
}

void print_json(const std::string& dataset, const VerifyReport& report) {
  Json json = {{"dataset", dataset},     {"sound", report.sound()},   {"shards", report.shards},
               {"clips", report.clips},  {"refused", report.refused}, {"bytes", report.bytes},
               {"damage", Json::array()}};
  for (const Damage& each : report.damage) {
    Json line = {{"file", each.file}};
    if (!each.clip.empty()) line["clip"] = each.clip;
    line["what"] = each.what;
    json["damage"].push_back(std::move(line));
  }
  if (!report.sound()) json["advice"] = advice_for(dataset, report);
  // A folder's name may be no UTF-8.
  std::printf("%s\n", json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
}

}  // namespace

int verify_command(const std::string& dataset, bool json, bool quiet) {
  ProgressLine line(quiet);
  const VerifyReport report = verify_dataset(dataset, [&](const VerifyProgress& now) {
    line.show({"shards", now.shards, now.total_shards, -1, -1, now.bytes, now.total_bytes});
  });
  line.finish();
  if (json) {
    print_json(dataset, report);
    return report.sound() ? 0 : 1;
  }
  std::printf("%s: %lld shards, %lld clips, %lld refused, %lld bytes read: %s\n", dataset.c_str(),
              static_cast<long long>(report.shards), static_cast<long long>(report.clips),
              static_cast<long long>(report.refused), static_cast<long long>(report.bytes),
              report.sound() ? "sound" : "DAMAGED");
  std::fflush(stdout);
  for (const Damage& each : report.damage)
    log_error(each.clip.empty()
                  ? join_message(each.file, ": ", each.what)
                  : join_message("damaged clip ", each.clip, " in ", each.file, ": ", each.what));
  if (!report.sound()) log_error(advice_for(dataset, report));
  return report.sound() ? 0 : 1;
}

}  // namespace zoetrope
