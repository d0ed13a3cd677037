// Host side of attention by cuDNN: runs, plans, work space, the order of what is started.
//
// Napkin besides the plan itself: merging T rows reads out 4, added 2, writes out 4 bytes an element; adding
// gradients 10 bytes an element three times: bound by device memory, expected 85 % of copy bandwidth.
#include "model/ops/cuda/attention_cudnn.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <mutex>
#include <set>

#include "core/log.h"
#include "model/ops/cuda/attention_cudnn_rows.cuh"
#include "model/ops/cuda/checks.h"
#include "model/ops/cuda/rows.h"
#include "model/ops/cuda/sizes.h"

namespace zoetrope::cuda {

using cudnn::AttentionShape;
using cudnn::Pass;
using cudnn::PlacedTensor;
using cudnn::TensorId;

/// Items that one plan runs together.
struct CudnnAttention::Run {
  AttentionShape shape;  ///< bucketed
  std::shared_ptr<const cudnn::AttentionPlan> plan;
  RunRows q{}, kv{};
  int64_t q_total = 0, kv_total = 0;
  int most_q = 0, most_kv = 0;  ///< rows of the longest item
};
struct CudnnAttention::Split {
  std::vector<Run> runs;
  std::vector<AttentionItem> left;
};

namespace {

/// Logs the first text of a kind.
void say_once(const std::string& kind, const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (said.insert(kind).second) log_info(text);
}

int64_t width_of(const AttentionArgs& args) { return int64_t(args.num_heads) * args.head_width; }

AttentionShape shape_of(Pass pass, const AttentionArgs& args, bool direct,
                        const cudnn::DeviceProperties& gpu) {
  const int64_t width = width_of(args);
  AttentionShape shape;
  shape.num_heads = args.num_heads, shape.head_width = args.head_width;
  shape.q_stride = args.q.stride, shape.k_stride = args.k.stride, shape.v_stride = args.v.stride;
  shape.out_stride = shape.dout_stride = width;
  if (pass == Pass::kBackward) {
    shape.out_stride = args.final_out.stride, shape.dout_stride = args.dout.stride;
    shape.lse = cudnn::lse_layout(gpu);
  } else if (direct) {
    shape.out_stride = args.out.stride;
  }
  return shape;
}

bool on_16_bytes(const Operand& x) {
  return reinterpret_cast<uintptr_t>(x.data) % 16 == 0 && x.stride * int64_t(size_of(x.dtype)) % 16 == 0;
}

/// Whether a forward pass writes its results where they belong.
bool goes_direct(const AttentionArgs& args) {
  return !args.accumulate && args.out.dtype == DType::kBF16 && on_16_bytes(args.out);
}

template <class T>
T* memory(Arena& arena, int64_t count) {
  return static_cast<T*>(arena.take({count * int64_t(sizeof(T))}, DType::kU8).raw());
}

/// Tables of a run in work space.
class Tables {
 public:
  Tables(Arena& arena, int64_t batch) : arena_(arena), batch_(batch) {
    tables_.q_lengths = memory<int32_t>(arena, batch);
    tables_.kv_lengths = memory<int32_t>(arena, batch);
    placed = {{TensorId::kQLengths, tables_.q_lengths}, {TensorId::kKvLengths, tables_.kv_lengths}};
  }
  void add(TensorId id, int64_t stride, bool of_keys, bool in_run) {
    int64_t* offsets = memory<int64_t>(arena_, batch_ + 1);
    tables_.tables[tables_.count++] = {offsets, stride, of_keys, in_run};
    placed.push_back({id, offsets});
  }
  void write(const RunRows& q, const RunRows& kv, cudaStream_t stream) const {
    launch(run_tables_kernel, {dim3(1), dim3(2 * RunRows::kMost), 0, "run_tables"}, stream, tables_, q, kv);
  }

  std::vector<PlacedTensor> placed;  ///< for the plan; others are added

 private:
  Arena& arena_;
  int64_t batch_;
  RunTables tables_{};
};

LaunchShape row_blocks(int rows, const RunRows& items, const char* name) {
  return {dim3(unsigned(rows), unsigned(items.batch)), dim3(kRunThreads), 0, name};
}

}  // namespace

const char* reason_against_cudnn(Pass pass, const AttentionArgs& args) {
  if (args.q.dtype != DType::kBF16) return "it serves bf16";
  if (args.head_width != 64 && args.head_width != 128) return "it serves heads of 64 and 128";
  if (pass == Pass::kBackward && args.final_out.dtype != DType::kBF16)
    return "its backward pass takes the output in bf16";
  for (const Operand* x : {&args.q, &args.k, &args.v, &args.final_out, &args.dout})
    if (!on_16_bytes(*x)) return "it needs operands' rows on 16 bytes";
  return nullptr;
}

CudnnAttention::CudnnAttention(Arena& workspace, bool allow_nondeterministic, cudaStream_t stream)
    : workspace_(workspace),
      stream_(stream),
      runner_(stream),
      plans_(runner_.device(), allow_nondeterministic ? cudnn::Bits::kAny : cudnn::Bits::kReproducible) {}

const std::shared_ptr<const cudnn::AttentionPlan>& CudnnAttention::plan_of(Pass pass,
                                                                           const AttentionShape& shape) {
  // The figure of the longest item: the runs of its call take no more (Note [Calls as plans]).
  const int64_t rows = std::max(shape.batch * shape.q_rows, shape.batch * shape.kv_rows);
  const auto& entry = plans_.get(
      pass, shape, cudnn_plan_bytes(std::max(rows, kCudnnLeastRows), shape.num_heads * shape.head_width));
  if (!entry.plan)
    say_once(join_message(name_of(pass), ", heads of ", shape.head_width),
             join_message("attention ", name_of(pass),
                          " on cuda: own kernels where cuDNN has no plan: ", entry.refusal));
  return entry.plan;
}

CudnnAttention::Split CudnnAttention::split(Pass pass, const AttentionArgs& args,
                                            std::span<const AttentionItem> items) {
  Split split;
  if (const char* reason = reason_against_cudnn(pass, args)) {
    const std::string text =
        join_message("attention ", name_of(pass), " on cuda: ", name_of(args.q.dtype), " heads of ",
                     args.head_width, " run on own kernels instead of cuDNN: ", reason);
    say_once(text, text);
    split.left.assign(items.begin(), items.end());
    return split;
  }
  AttentionShape shape = shape_of(pass, args, goes_direct(args), plans_.device());
  std::map<std::pair<int64_t, int64_t>, std::vector<AttentionItem>> groups;
  int64_t longest = kCudnnLeastRows;
  for (const AttentionItem& item : items) {
    shape.q_rows = item.q_end - item.q_begin, shape.kv_rows = item.kv_end - item.kv_begin;
    if (shape.q_rows == 0 || shape.kv_rows == 0) {
      split.left.push_back(item);
      continue;
    }
    longest = std::max({longest, shape.q_rows, shape.kv_rows});
    const AttentionShape bucket = bucketed(shape);
    groups[{bucket.q_rows, bucket.kv_rows}].push_back(item);
  }
  for (const auto& [rows, group] : groups) {
    shape.q_rows = rows.first, shape.kv_rows = rows.second;
    const int64_t room = std::max<int64_t>(1, longest / std::max(rows.first, rows.second));
    for (size_t done = 0; done < group.size();) {
      const int64_t most = std::min<int64_t>({int64_t(group.size() - done), room, RunRows::kMost});
      shape.batch = int64_t(std::bit_floor(uint64_t(most)));
      const auto chosen = std::span(group).subspan(done, size_t(shape.batch));
      done += chosen.size();
      Run run;
      run.shape = shape;
      run.plan = plan_of(pass, shape);
      if (!run.plan) {
        split.left.insert(split.left.end(), chosen.begin(), chosen.end());
        continue;
      }
      run.q.batch = run.kv.batch = int32_t(shape.batch);
      for (size_t b = 0; b < chosen.size(); ++b) {
        const AttentionItem& item = chosen[b];
        const auto put = [b](RunRows& side, int64_t begin, int64_t end, int64_t& total, int& longest_item) {
          side.begin[b] = int32_t(begin), side.count[b] = int32_t(end - begin);
          side.first[b] = int32_t(total);
          total += end - begin;
          longest_item = std::max(longest_item, int(end - begin));
        };
        put(run.q, item.q_begin, item.q_end, run.q_total, run.most_q);
        put(run.kv, item.kv_begin, item.kv_end, run.kv_total, run.most_kv);
      }
      split.runs.push_back(run);
    }
  }
  return split;
}

void CudnnAttention::start(const Run& run, std::span<const PlacedTensor> tensors) {
  // On a boundary as cudaMalloc gives it.
  const int64_t bytes = run.plan->workspace_bytes() + kCudaProductAlignment;
  const auto address = reinterpret_cast<uintptr_t>(memory<char>(workspace_, bytes));
  const uintptr_t boundary = uintptr_t(kCudaProductAlignment);
  runner_.run(run.plan, tensors, reinterpret_cast<void*>((address + boundary - 1) / boundary * boundary));
}

void CudnnAttention::run_forward(const AttentionArgs& args, const Run& run) {
  const ArenaScope scope(workspace_);
  const bool direct = goes_direct(args);
  const int64_t width = width_of(args);
  void* out = args.out.data;
  float* lse = args.lse;
  if (!direct) {
    out = memory<bf16>(workspace_, run.q_total * width);
    lse = memory<float>(workspace_, run.q_total * args.num_heads);
  }
  Tables tables(workspace_, run.shape.batch);
  tables.add(TensorId::kQOffsets, args.q.stride, false, false);
  tables.add(TensorId::kKOffsets, args.k.stride, true, false);
  tables.add(TensorId::kVOffsets, args.v.stride, true, false);
  tables.add(TensorId::kOutOffsets, run.shape.out_stride, false, !direct);
  tables.add(TensorId::kLseOffsets, args.num_heads, false, !direct);
  tables.write(run.q, run.kv, stream_);
  std::vector<PlacedTensor> tensors = tables.placed;
  for (const auto& [id, data] : {PlacedTensor{TensorId::kQ, args.q.data},
                                 {TensorId::kK, args.k.data},
                                 {TensorId::kV, args.v.data},
                                 {TensorId::kOut, out},
                                 {TensorId::kLse, lse},
                                 {TensorId::kScale, &args.scale}})
    tensors.push_back({id, data});
  start(run, tensors);
  if (direct) return;
  dispatch(args.out.dtype, [&]<class O>(O) {
    with_access<8>(on_16_bytes(args.out), [&]<int kN>() {
      launch(merge_run_kernel<kN, O>, row_blocks(run.most_q, run.q, "merge_run"), stream_,
             Rows<O>{static_cast<O*>(args.out.data), args.out.stride}, args.lse,
             Rows<const bf16>{static_cast<const bf16*>(out), width}, static_cast<const float*>(lse), run.q,
             args.num_heads, args.head_width, args.accumulate);
    });
  });
}

void CudnnAttention::run_backward(const AttentionArgs& args, const Run& run) {
  const ArenaScope scope(workspace_);
  const AttentionShape& shape = run.shape;
  const int64_t width = width_of(args), padded = shape.batch * shape.num_heads * shape.q_rows;
  bf16* dq = memory<bf16>(workspace_, run.q_total * width);
  bf16* dk = memory<bf16>(workspace_, run.kv_total * width);
  bf16* dv = memory<bf16>(workspace_, run.kv_total * width);
  Tables tables(workspace_, shape.batch);
  tables.add(TensorId::kQOffsets, args.q.stride, false, false);
  tables.add(TensorId::kKOffsets, args.k.stride, true, false);
  tables.add(TensorId::kVOffsets, args.v.stride, true, false);
  tables.add(TensorId::kOutOffsets, args.final_out.stride, false, false);
  tables.add(TensorId::kDoutOffsets, args.dout.stride, false, false);
  tables.add(TensorId::kDqOffsets, width, false, true);
  tables.add(TensorId::kDkvOffsets, width, true, true);
  const float* lse = args.lse;
  if (shape.lse == cudnn::LseLayout::kPacked) {
    tables.add(TensorId::kLseOffsets, args.num_heads, false, false);
  } else {
    float* copy = memory<float>(workspace_, padded);
    launch(pad_lse_kernel, row_blocks(int(shape.q_rows), run.q, "pad_lse"), stream_, copy, lse, run.q,
           args.num_heads, shape.q_rows);
    lse = copy;
  }
  tables.write(run.q, run.kv, stream_);
  const float one = 1, minus_infinity = -std::numeric_limits<float>::infinity();
  std::vector<PlacedTensor> tensors = tables.placed;
  for (const auto& [id, data] : {PlacedTensor{TensorId::kQ, args.q.data},
                                 {TensorId::kK, args.k.data},
                                 {TensorId::kV, args.v.data},
                                 {TensorId::kOut, args.final_out.data},
                                 {TensorId::kDout, args.dout.data},
                                 {TensorId::kLse, lse},
                                 {TensorId::kDq, dq},
                                 {TensorId::kDk, dk},
                                 {TensorId::kDv, dv},
                                 {TensorId::kScale, &args.scale},
                                 {TensorId::kOne, &one},
                                 {TensorId::kMinusInfinity, &minus_infinity},
                                 {TensorId::kDelta, memory<float>(workspace_, padded)}})
    tensors.push_back({id, data});
  if (plans_.bits() == cudnn::Bits::kAny)
    tensors.push_back({TensorId::kDqSum, memory<float>(workspace_, padded * shape.head_width)});
  start(run, tensors);
  const auto add = [&](const Operand& to, const bf16* from, const RunRows& rows, int most) {
    with_access<8>(on_16_bytes(to), [&]<int kN>() {
      launch(add_run_kernel<kN>, row_blocks(most, rows, "add_run"), stream_,
             Rows<float>{static_cast<float*>(to.data), to.stride}, Rows<const bf16>{from, width}, rows,
             int(width));
    });
  };
  add(args.dq, dq, run.q, run.most_q);
  add(args.dk, dk, run.kv, run.most_kv);
  add(args.dv, dv, run.kv, run.most_kv);
}

std::vector<AttentionItem> CudnnAttention::forward(const AttentionArgs& args,
                                                   std::span<const AttentionItem> items) {
  Split work = split(Pass::kForward, args, items);
  for (const Run& run : work.runs) run_forward(args, run);
  return std::move(work.left);
}

std::vector<AttentionItem> CudnnAttention::backward(const AttentionArgs& args,
                                                    std::span<const AttentionItem> items) {
  Split work = split(Pass::kBackward, args, items);
  for (const Run& run : work.runs) run_backward(args, run);
  return std::move(work.left);
}

}  // namespace zoetrope::cuda
