#include "model/sample.h"

namespace zoetrope {

Tensor sample_tokens(Flow& flow, const SampleRequest& request, const MicroBatch& batch,
                     const ModelConfig& model, int64_t draw) {
  ZT_CHECK(request.steps >= 1 && request.shift > 0, request.steps, " sampling steps, shift ", request.shift);
  const Ops& ops = flow.ops();
  const int64_t T = batch.num_tokens(), P = model.in_features();
  const Tensor x = Tensor::zeros({T, P}, flow.wide_type(), ops.device());
  const Tensor conditional = Tensor::zeros({T, P}, flow.wide_type(), ops.device()),
               unconditional = Tensor::zeros({T, P}, flow.wide_type(), ops.device());
  std::vector<FlowRows> rows;
  for (const Segment& segment : batch.segments)
    rows.push_back({segment.row,
                    segment.row + segment.num_tokens(),
                    1.0,
                    {request.seed, Purpose::kSampling, draw, segment.begin}});
  if (T > 0) ops.flow_inputs(x, {}, {}, rows, model.in_channels, false);

  const std::vector<std::string> prompts(batch.segments.size(), request.prompt);
  const std::vector<std::string> negative(batch.segments.size(), request.negative_prompt);
  const auto sigma_at = [&](int64_t step) {
    const double base = 1 - double(step) / double(request.steps);
    return request.shift * base / (1 + (request.shift - 1) * base);
  };
  const bool guided = request.guidance != 1.0;
  for (int64_t step = 0; step < request.steps; ++step) {
    const double sigma = sigma_at(step), next = sigma_at(step + 1);
    flow.velocity(conditional, x, sigma, batch, prompts);
    if (guided) flow.velocity(unconditional, x, sigma, batch, negative);
    if (T > 0)
      ops.guided_step(x, conditional, guided ? unconditional : conditional, request.guidance, next - sigma);
  }
  return to_host(x);
}

}  // namespace zoetrope
