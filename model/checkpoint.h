// Checkpoints: a folder of safetensors + state.json + DONE written last; appears whole or not at all.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "model/params.h"

namespace zoetrope {

/// A named tensor with its shape as stored in the file.
struct NamedTensor {
  std::string name;
  std::vector<int64_t> shape;
  Tensor flat;
};

/// Writes a safetensors file (metadata as string pairs), synced to disk.
void write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata);
/// Reads all tensors of a safetensors file. Throws: Error naming file and tensor on truncated or
/// inconsistent headers, overlapping or out-of-range offsets.
std::vector<NamedTensor> read_safetensors(const std::string& path,
                                          std::map<std::string, std::string>* metadata = nullptr);

/// Everything a run needs to go on, besides the tensors: JSON text made by the tool.
struct Checkpoint {
  int64_t step = 0;
  std::string state_json;
};

/// Writes RUN/checkpoints/step-NNNNNN via a temporary folder: model, optimizer (first, second), ema when
/// defined, state.json, DONE with every file's size and content hash; all synced; then renamed.
/// Throws: Error naming file and tensor when a value is not finite: nobody could go on from such a
/// checkpoint, and it would push older ones out.
void save_checkpoint(const std::string& run, const Checkpoint& checkpoint, const Parameters& parameters,
                     const Tensor& first, const Tensor& second, const Tensor& ema);
/// Loads into the same buffers, strictly: every name and shape must match, every value be finite, every file
/// be as DONE lists it. Throws: Error naming file, tensor, found and expected.
Checkpoint load_checkpoint(const std::string& folder, const Parameters& parameters, const Tensor& first,
                           const Tensor& second, const Tensor& ema);
/// Loads model values alone (the EMA when `use_ema` and present), as strictly; for sampling.
Checkpoint load_weights(const std::string& folder, const Parameters& parameters, bool use_ema,
                        bool* used_ema = nullptr);
/// Reads state.json alone.
Checkpoint read_checkpoint_state(const std::string& folder);

/// Complete checkpoints of a run, oldest first; folders without DONE are not listed.
std::vector<std::string> list_checkpoints(const std::string& run);

}  // namespace zoetrope
