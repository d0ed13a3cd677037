// Ranks: one interface, as threads for tests, as MPI processes, over NCCL on GPUs. Two channels that never
// share a communicator: point-to-point ring transfers, and collectives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace zoetrope {

/// One transfer in flight.
class Transfer {
 public:
  virtual ~Transfer() = default;
  /// True when complete; drives progress.
  virtual bool test() = 0;
  virtual void wait() = 0;
};

/// What one rank sends and receives in one grouped call.
struct Send {
  int to = 0;
  const void* data = nullptr;
  int64_t bytes = 0;
  int tag = 0;
};
struct Receive {
  int from = 0;
  void* data = nullptr;
  int64_t bytes = 0;
  int tag = 0;
};

class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const char* name() const = 0;

  /// Posts all receives and sends at once (one grouped call); buffers stay untouched until complete.
  virtual std::unique_ptr<Transfer> exchange(const std::vector<Send>& sends,
                                             const std::vector<Receive>& receives) = 0;
  /// Lets transfers in flight advance; called between blocks of compute.
  virtual void progress() = 0;

  /// Sum over ranks, in an order that depends on the rank count alone; result bit-equal on all ranks.
  virtual void all_reduce_sum(const Tensor& values) = 0;  ///< f32 or f64, dense
  /// The same sum in flight; every rank starts its sums in the same order. `progress` advances it.
  virtual std::unique_ptr<Transfer> start_all_reduce_sum(const Tensor& values) = 0;
  /// How many sums to have in flight at most: each takes work space, unless a device's queue holds them.
  virtual size_t most_sums_in_flight() const { return 2; }
  virtual double all_reduce_max(double value) = 0;
  /// Every rank's bytes (equal count) in rank order.
  virtual std::vector<std::byte> all_gather(const void* data, int64_t bytes) = 0;
  virtual void broadcast(void* data, int64_t bytes, int root) = 0;
  virtual void barrier() = 0;
  /// Ends all ranks after an error, naming it; with an empty message, one that was named already.
  [[noreturn]] virtual void abort(const std::string& message) = 0;
  /// Memory of the rank's device that the transport holds as long as it lives; the same on all ranks.
  virtual int64_t device_bytes() const { return 0; }
};

/// Runs `body` on `num_ranks` ranks as threads and rethrows the first error; ranks blocked in a call on a
/// failed rank end with an error too.
void run_local_ranks(int num_ranks, const std::function<void(Comm&)>& body);

/// Throws: Error "this build has no MPI" when it was not found at build time.
void initialise_mpi(int* argc, char*** argv);
void finalise_mpi();
bool mpi_built();
/// True inside mpirun or srun (from the environment, before MPI is initialised).
bool launched_by_mpi();
std::unique_ptr<Comm> make_mpi_comm();
/// The single rank of a run without MPI.
std::unique_ptr<Comm> make_single_comm();

}  // namespace zoetrope
