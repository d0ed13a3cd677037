// The one binary: lists its subcommands and hands them the command line.
#include "tools/commands.h"
#include "tools/version.h"

int main(int argc, char** argv) {
  using namespace zoetrope;
  std::vector<Command> commands{ingest_command(), inspect_command(), plan_command(), train_command(), sample_command(), heldout_command()};
  const std::string about = "Trains video diffusion transformers on clips of every length.";
  const std::string version = std::string("zoetrope ") + kVersion + "\n" + ZT_BUILD_SUMMARY;
  return run_command_line(argc, argv, commands, about, version);
}
