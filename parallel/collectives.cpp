#include "parallel/collectives.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace zoetrope {
namespace {

/// own = v_0 + v_1 + ... in rank order, where v_rank is `own` and the others lie in `received`.
template <class T>
void sum_in_rank_order(T* own, const T* received, int rank, int size, int64_t count) {
  constexpr int64_t kBlock = 1024;  // sums stay in the first-level cache
  T sum[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    for (int r = 0; r < size; ++r) {
      const int64_t other = r < rank ? r : r - 1;
      const T* values = r == rank ? own + begin : received + other * count + begin;
      if (r == 0) std::copy(values, values + n, sum);
      else
        for (int64_t i = 0; i < n; ++i) sum[i] += values[i];
    }
    std::copy(sum, sum + n, own + begin);
  }
}

}  // namespace

AllReduce::AllReduce(int rank, int size, const Tensor& values, int tag, PostMessages post)
    : rank_(rank), size_(size), values_(values), tag_(tag), post_(std::move(post)) {
  ZT_CHECK(values.dtype() == DType::kF32 || values.dtype() == DType::kF64, "sum over ranks of ",
           values.shape_text(), "; only f32 and f64 have one");
  ZT_CHECK(values.dense(), "sum over ranks of a strided view ", values.shape_text());
  if (size_ > 1 && values_.size() > 0) post_scatter();
}

char* AllReduce::at(int64_t element) const {
  return static_cast<char*>(values_.raw()) + element * int64_t(size_of(values_.dtype()));
}

int64_t AllReduce::slice_begin(int rank) const {
  return chunk_begin_ + (chunk_end_ - chunk_begin_) * rank / size_;
}

void AllReduce::post_scatter() {
  const int64_t width = int64_t(size_of(values_.dtype()));
  chunk_begin_ = chunk_end_;
  chunk_end_ = std::min(values_.size(), chunk_begin_ + kChunkBytes / width);
  const int64_t mine = (slice_begin(rank_ + 1) - slice_begin(rank_)) * width;
  received_.resize(size_t(mine * (size_ - 1)));
  std::vector<Send> sends;
  std::vector<Receive> receives;
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    sends.push_back({r, at(slice_begin(r)), (slice_begin(r + 1) - slice_begin(r)) * width, tag_});
    receives.push_back({r, received_.data() + int64_t(receives.size()) * mine, mine, tag_});
  }
  transfer_ = post_(sends, receives);
  phase_ = Phase::kScatter;
}

void AllReduce::sum_and_post_gather() {
  const int64_t width = int64_t(size_of(values_.dtype()));
  const int64_t begin = slice_begin(rank_), count = slice_begin(rank_ + 1) - begin;
  if (values_.dtype() == DType::kF32)
    sum_in_rank_order(reinterpret_cast<float*>(at(begin)), reinterpret_cast<const float*>(received_.data()),
                      rank_, size_, count);
  else
    sum_in_rank_order(reinterpret_cast<double*>(at(begin)), reinterpret_cast<const double*>(received_.data()),
                      rank_, size_, count);
  std::vector<Send> sends;
  std::vector<Receive> receives;
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    sends.push_back({r, at(begin), count * width, tag_ + 1});
    receives.push_back({r, at(slice_begin(r)), (slice_begin(r + 1) - slice_begin(r)) * width, tag_ + 1});
  }
  transfer_ = post_(sends, receives);
  phase_ = Phase::kGather;
}

void AllReduce::advance() {
  if (phase_ == Phase::kScatter) {
    sum_and_post_gather();
  } else if (chunk_end_ < values_.size()) {
    post_scatter();
  } else {
    phase_ = Phase::kDone;
    received_.clear();
    transfer_.reset();
  }
}

bool AllReduce::test() {
  while (phase_ != Phase::kDone && transfer_->test()) advance();
  return phase_ == Phase::kDone;
}

void AllReduce::wait() {
  while (phase_ != Phase::kDone) {
    transfer_->wait();
    advance();
  }
}

namespace {

/// Keeps a sum alive for its owner while `SumsInFlight` may still advance it.
class SharedSum : public Transfer {
 public:
  explicit SharedSum(std::shared_ptr<AllReduce> sum) : sum_(std::move(sum)) {}
  bool test() override { return sum_->test(); }
  void wait() override { sum_->wait(); }

 private:
  std::shared_ptr<AllReduce> sum_;
};

}  // namespace

std::unique_ptr<Transfer> SumsInFlight::start(int rank, int size, const Tensor& values,
                                              const PostMessages& post) {
  constexpr int kTagPairs = 4096;  // far more than sums in flight; MPI guarantees tags up to 32767
  const int tag = kFirstSumTag + 2 * (started_++ % kTagPairs);
  auto sum = std::make_shared<AllReduce>(rank, size, values, tag, post);
  sums_.push_back(sum);
  return std::make_unique<SharedSum>(std::move(sum));
}

void SumsInFlight::progress() {
  std::erase_if(sums_, [](const std::weak_ptr<AllReduce>& weak) {
    const std::shared_ptr<AllReduce> sum = weak.lock();
    return !sum || sum->test();
  });
}

std::vector<std::byte> gather_from_all(int rank, int size, const void* data, int64_t bytes, int tag,
                                       const PostMessages& post) {
  std::vector<std::byte> all(size_t(bytes * size));
  if (bytes > 0) std::memcpy(all.data() + rank * bytes, data, size_t(bytes));
  std::vector<Send> sends;
  std::vector<Receive> receives;
  for (int r = 0; r < size; ++r) {
    if (r == rank) continue;
    sends.push_back({r, data, bytes, tag});
    receives.push_back({r, all.data() + r * bytes, bytes, tag});
  }
  if (!sends.empty()) post(sends, receives)->wait();
  return all;
}

double largest_of(const std::vector<std::byte>& gathered) {
  std::vector<double> values(gathered.size() / sizeof(double));
  std::memcpy(values.data(), gathered.data(), gathered.size());
  double largest = values.at(0);
  for (const double value : values) largest = std::isnan(value) || value > largest ? value : largest;
  for (const double value : values) largest = std::isnan(value) ? value : largest;
  return largest;
}

}  // namespace zoetrope
