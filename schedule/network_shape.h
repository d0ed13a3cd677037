// Networks that plans can be made for without a training config: their sizes, by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace zoetrope {

/// Sizes of a transformer; what costs and memory before training follow from.
struct NetworkShape {
  std::string name;
  int64_t width = 0, num_layers = 0, num_heads = 0, ffn = 0;
  int64_t mlp_products = 2;               ///< matrices of an MLP: 3 when it is gated
  int64_t text_rows = 0, text_width = 0;  ///< of the text that blocks attend to; 0: none
  int64_t channels = 0;    ///< latent channels of a video element, patch (1, 2, 2); 0: no video
  int64_t vocabulary = 0;  ///< of a language model; 0: none

  /// Weights of a layer's products that see every token: of self-attention, of the query and output of
  /// attention to text, of the MLP.
  double token_weights() const {
    return double((text_rows > 0 ? 6 : 4) * width * width + mlp_products * width * ffn);
  }
};

/// What the backward pass computes again: nothing; all but the attention, whose output and log-sum-exp are
/// kept; each layer from its input.
enum class Recompute { kNone, kSelective, kFull };

/// wan-14b, wan-1.3b and text-7b. Sources: Wan 2.1's published configurations; Llama 2 7B, arXiv:2307.09288.
const std::vector<NetworkShape>& network_shapes();
/// Throws: UsageError that lists the names.
const NetworkShape& find_network_shape(const std::string& name);

}  // namespace zoetrope
