// Collectives made of point-to-point messages, for every Comm: the sum is taken in rank order, so that its
// bits depend on the rank count alone; MPI_Allreduce promises no order.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "parallel/comm.h"

namespace zoetrope {

/// Posts messages on the channel of collectives.
using PostMessages =
    std::function<std::unique_ptr<Transfer>(const std::vector<Send>&, const std::vector<Receive>&)>;

/// A sum over ranks in flight: every rank sums one slice in rank order, then hands it to all others.
/// Works through the tensor in chunks, so that its work space stays small.
class AllReduce : public Transfer {
 public:
  /// `tag` and `tag + 1` must not be used by another sum in flight.
  AllReduce(int rank, int size, const Tensor& values, int tag, PostMessages post);
  bool test() override;
  void wait() override;
  /// Largest bytes of work space that one sum holds.
  static constexpr int64_t kChunkBytes = int64_t(4) << 20;

 private:
  enum class Phase { kScatter, kGather, kDone };
  void post_scatter();
  void sum_and_post_gather();
  void advance();
  int64_t slice_begin(int rank) const;
  char* at(int64_t element) const;

  int rank_, size_;
  Tensor values_;
  int tag_;
  PostMessages post_;
  int64_t chunk_begin_ = 0, chunk_end_ = 0;  // elements of the chunk being summed
  Phase phase_ = Phase::kDone;
  std::vector<std::byte> received_;  // this rank's slice of all other ranks, in rank order
  std::unique_ptr<Transfer> transfer_;
};

/// The sums that a rank has in flight, so that `progress` reaches them; gives each its tags.
class SumsInFlight {
 public:
  /// Starts one more sum.
  std::unique_ptr<Transfer> start(int rank, int size, const Tensor& values, const PostMessages& post);
  /// Advances all of them and forgets those that are done.
  void progress();

 private:
  std::vector<std::weak_ptr<AllReduce>> sums_;
  int started_ = 0;
};
constexpr int kFirstSumTag = 16;  ///< smaller tags belong to other collectives

/// Every rank's bytes (equal count) in rank order.
std::vector<std::byte> gather_from_all(int rank, int size, const void* data, int64_t bytes, int tag,
                                       const PostMessages& post);
/// Largest of the ranks' values; NaN when one of them is NaN.
double largest_of(const std::vector<std::byte>& gathered);

}  // namespace zoetrope
