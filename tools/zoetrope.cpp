// The one binary: lists its subcommands and hands them the command line.
#include "tools/commands.h"
#include "tools/device_backends.h"
#include "tools/output_files.h"
#include "tools/version.h"

int main(int argc, char** argv) {
  using namespace zoetrope;
  register_devices();
  std::vector<Command> commands;
  commands.push_back(ingest_command());
  commands.push_back(merge_command());
  commands.push_back(inspect_command());
  commands.push_back(profile_command());
  commands.push_back(plan_command());
  commands.push_back(train_command());
  commands.push_back(sample_command());
  commands.push_back(heldout_command());
  commands.push_back(bench_command());
  commands.push_back(selftest_command());
  for (Command& command : commands)
    command.run = [command, run = command.run] {
      refuse_empty_paths(command);
      return run();
    };
  const std::string about = "Trains video diffusion transformers on clips of every length.";
  const std::string version = std::string("zoetrope ") + kVersion + "\n" + ZT_BUILD_SUMMARY;
  return run_command_line(argc, argv, commands, about, version);
}
