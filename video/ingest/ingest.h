// Clips -> data set. Files are decoded in parallel, written in the order of their paths, so that
// the bytes depend on sources and options alone; killed at any moment, it goes on where it was.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "video/ingest/analysis_request.h"
#include "video/ingest/damage_policy.h"
#include "video/sources/ingest_plan.h"
#include "video/store/part.h"

namespace zoetrope {

/// What the user asked for.
struct IngestRequest {
  std::string source, dataset;
  DecodeRules decode;
  AnalysisRequest analysis;
  IngestPlanOptions plan;  ///< how SOURCE is read; its rate is that of `decode`
  DamagePolicy damaged = DamagePolicy::kKeepClean;
  int64_t workers = 1;
  bool update = false;  ///< accept that sources changed, and decode what changed
  bool repair = false;  ///< compare all shards of a finished data set with their hashes
  PartNumber part;      ///< this machine's share
  int64_t shard_bytes = 64 << 20, shard_samples = 1024;
};

/// How far it is. Clips count from the beginning of the data set, the rest in this run alone.
struct IngestProgress {
  int64_t done = 0, total = 0, refused = 0;  ///< clips
  int64_t frames = 0;                        ///< written
  int64_t decoded = 0;                       ///< frames decoded from the sources
  int64_t bytes = 0, total_bytes = 0;        ///< of source files: written, and all that this run has to do
  int64_t waiting = 0;                       ///< files decoded, waiting for an earlier one or for the disk
};

/// What came out.
struct IngestResult {
  std::vector<ManifestEntry> entries;
  std::vector<std::string> warnings, notes;
  PairingReport pairing;
  int64_t ignored_files = 0;
  int64_t resumed = 0;        ///< clips that an earlier run had decided
  int64_t reused = 0;         ///< clips after a change, taken from the earlier data set without decoding
  int64_t undecided = 0;      ///< clips without a verdict: the data set is not sealed
  int64_t repaired = 0;       ///< damaged shards of a finished data set that were made anew
  bool was_complete = false;  ///< the data set was there already, and the sources are the same
};

/// What it would do, without doing it. Throws: as `ingest` for SOURCE and values.
IngestPlan plan_of(const IngestRequest& request);
/// Clips that the watchdog stops stay undecided in the journal: the data set is not sealed, and the next run
/// decides them and writes again what follows them. Shards of a finished data set that are missing or cut off
/// are made anew, as are those that `repair` finds.
/// Throws: UsageError for paths and values that can't be; Error when sources changed (listing them), when the
/// data set was begun with other options, when nothing is there, when the disk is full, when a clip is
/// damaged and the policy is kFail.
IngestResult ingest(const IngestRequest& request, const std::function<void(const IngestProgress&)>& progress);

}  // namespace zoetrope
