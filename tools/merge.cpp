// zoetrope merge: parts that several machines made -> one data set.
#include <cstdio>

#include "core/log.h"
#include "tools/commands.h"
#include "tools/dataset_report.h"
#include "tools/progress_line.h"
#include "video/ingest/merge.h"
#include "video/store/dataset_writer.h"

namespace zoetrope {
namespace {

struct MergeFlags {
  std::string dataset;
  std::vector<std::string> parts;
  bool json = false, quiet = false;
};

int run(const MergeFlags& flags) {
  ProgressLine line(flags.quiet);
  const MergeResult result = merge_parts(flags.dataset, flags.parts, [&](const MergeProgress& now) {
    line.show({"clips", now.done, now.total, -1, -1, now.bytes, now.total_bytes});
  });
  line.finish();
  const IngestCounts counts = count_verdicts(result.entries);
  if (flags.json) {
    std::printf("%s\n", counts_json(counts, result.entries).c_str());
  } else {
    if (result.was_complete)
      std::printf("%s is complete already, made of these parts\n", flags.dataset.c_str());
    else if (result.resumed > 0)
      std::printf("went on after %lld clips of an earlier run\n", static_cast<long long>(result.resumed));
    std::fputs(counts_text(counts, result.entries, read_dataset_json(flags.dataset).fps).c_str(), stdout);
  }
  require_usable(counts, flags.dataset);
  return exit_code_of(counts);
}

}  // namespace

Command merge_command() {
  auto flags = std::make_shared<MergeFlags>();
  Command command;
  command.name = "merge";
  command.help = "Join the parts that several machines ingested into one data set";
  command.footer =
      "On machine I of N:  zoetrope ingest SOURCE PART_I --part I/N\n"
      "then on any one:    zoetrope merge DATASET PART_1 ... PART_N\n"
      "DATASET has the bytes that a single ingest gives. Parts are read, never changed, and are yours to "
      "remove "
      "afterwards.\n"
      "Killed at any moment, the same command goes on where it was. Exit codes as those of ingest.";
  command.options.add_positional("dataset", flags->dataset, "folder to make");
  command.options.add_positional("parts", flags->parts,
                                 "folders that `zoetrope ingest --part` made, in any order");
  command.options.add_flag("json", flags->json, "print the summary as JSON");
  command.options.add_flag("quiet", flags->quiet, "no progress on stderr");
  command.run = [flags] { return run(*flags); };
  return command;
}

}  // namespace zoetrope
