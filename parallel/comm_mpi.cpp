// Ranks as MPI processes. Two duplicated communicators: ring transfers and collectives never share one.
// Only the thread that initialised MPI calls it (MPI_THREAD_FUNNELED).
#define OMPI_SKIP_MPICXX 1  // the C interface alone: Open MPI 4's C++ bindings need a library of their own
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cstdlib>

#include "core/check.h"
#include "core/log.h"
#include "parallel/collectives.h"

namespace zoetrope {
namespace {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(join_message(call, ": ", text));
}

constexpr int64_t kPieceBytes = int64_t(1) << 30;  // an MPI count is an int: messages go in pieces of 1 GiB

class MpiTransfer : public Transfer {
 public:
  MpiTransfer(MPI_Comm comm, const std::vector<Send>& sends, const std::vector<Receive>& receives) {
    for (const Receive& r : receives)
      for_pieces(r.bytes, [&](int64_t begin, int count) {
        check_mpi(MPI_Irecv(static_cast<char*>(r.data) + begin, count, MPI_BYTE, r.from, r.tag, comm, add()),
                  "MPI_Irecv");
      });
    for (const Send& s : sends)
      for_pieces(s.bytes, [&](int64_t begin, int count) {
        check_mpi(
            MPI_Isend(static_cast<const char*>(s.data) + begin, count, MPI_BYTE, s.to, s.tag, comm, add()),
            "MPI_Isend");
      });
  }
  bool test() override {
    int done = 0;
    check_mpi(MPI_Testall(int(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE),
              "MPI_Testall");
    return done != 0;
  }
  void wait() override {
    check_mpi(MPI_Waitall(int(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }

 private:
  MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }

  /// At least one piece, so that an empty message is a message too.
  template <class Body>
  static void for_pieces(int64_t bytes, Body body) {
    int64_t begin = 0;
    do {
      body(begin, int(std::min(kPieceBytes, bytes - begin)));
      begin += kPieceBytes;
    } while (begin < bytes);
  }

  std::vector<MPI_Request> requests_;
};

class MpiComm : public Comm {
 public:
  MpiComm() {
    int is_initialised = 0;
    MPI_Initialized(&is_initialised);
    ZT_CHECK(is_initialised, "make_mpi_comm before initialise_mpi");
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    for (MPI_Comm* comm : {&rings_, &collectives_}) {
      check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, comm), "MPI_Comm_dup");
      check_mpi(MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    }
    post_ = [this](const std::vector<Send>& sends, const std::vector<Receive>& receives) {
      return std::make_unique<MpiTransfer>(collectives_, sends, receives);
    };
  }
  ~MpiComm() override {
    int is_finalised = 0;
    MPI_Finalized(&is_finalised);
    if (is_finalised) return;
    MPI_Comm_free(&rings_);
    MPI_Comm_free(&collectives_);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const char* name() const override { return "mpi"; }

  std::unique_ptr<Transfer> exchange(const std::vector<Send>& sends,
                                     const std::vector<Receive>& receives) override {
    return std::make_unique<MpiTransfer>(rings_, sends, receives);
  }
  void progress() override {
    int found = 0;  // any call drives all transfers of the process
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, rings_, &found, MPI_STATUS_IGNORE), "MPI_Iprobe");
    sums_.progress();
  }
  void all_reduce_sum(const Tensor& values) override { start_all_reduce_sum(values)->wait(); }
  std::unique_ptr<Transfer> start_all_reduce_sum(const Tensor& values) override {
    return sums_.start(rank_, size_, values, post_);
  }
  double all_reduce_max(double value) override { return largest_of(all_gather(&value, sizeof value)); }
  std::vector<std::byte> all_gather(const void* data, int64_t bytes) override {
    ZT_CHECK(bytes <= kPieceBytes, "all_gather of ", bytes, " bytes per rank; at most ", kPieceBytes);
    std::vector<std::byte> all(size_t(bytes * size_));
    check_mpi(MPI_Allgather(data, int(bytes), MPI_BYTE, all.data(), int(bytes), MPI_BYTE, collectives_),
              "MPI_Allgather");
    return all;
  }
  void broadcast(void* data, int64_t bytes, int root) override {
    for (int64_t begin = 0; begin < bytes; begin += kPieceBytes)
      check_mpi(MPI_Bcast(static_cast<char*>(data) + begin, int(std::min(kPieceBytes, bytes - begin)),
                          MPI_BYTE, root, collectives_),
                "MPI_Bcast");
  }
  void barrier() override { check_mpi(MPI_Barrier(collectives_), "MPI_Barrier"); }
  [[noreturn]] void abort(const std::string& message) override {
    if (!message.empty()) log_error(message);
    MPI_Abort(MPI_COMM_WORLD, 3);
    std::_Exit(3);  // MPI_Abort is not declared noreturn
  }

 private:
  int rank_ = 0, size_ = 1;
  MPI_Comm rings_ = MPI_COMM_NULL, collectives_ = MPI_COMM_NULL;
  PostMessages post_;
  SumsInFlight sums_;
};

}  // namespace

void initialise_mpi(int* argc, char*** argv) {
  int provided = 0;
  check_mpi(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  ZT_REQUIRE(provided >= MPI_THREAD_FUNNELED, "this MPI library was built without thread support (level ",
             provided, "); MPI_THREAD_FUNNELED is needed");
}
void finalise_mpi() { check_mpi(MPI_Finalize(), "MPI_Finalize"); }
bool mpi_built() { return true; }
std::unique_ptr<Comm> make_mpi_comm() { return std::make_unique<MpiComm>(); }

}  // namespace zoetrope
