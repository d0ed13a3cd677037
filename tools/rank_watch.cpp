#include "tools/rank_watch.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "core/check.h"
#include "core/log.h"

namespace zoetrope {
namespace {

constexpr const char* kVariable = "ZOETROPE_LAUNCHED";
constexpr std::string_view kFails = "fails ";
constexpr size_t kMostBytes = 1 << 16;  // of one message; a socket's usual buffer is three times as large

/// An abstract address: no file that a kill could leave behind.
socklen_t fill_address(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + length);
}

int open_socket() { return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0); }

void watch(int events, int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  ZT_REQUIRE(epoll_ctl(events, EPOLL_CTL_ADD, descriptor, &event) == 0,
             "ranks can't be watched: ", std::strerror(errno));
}

}  // namespace

RankWatch::RankWatch() : address_("zoetrope-ranks-" + std::to_string(getpid())) {
  events_ = epoll_create1(EPOLL_CLOEXEC);
  listener_ = open_socket();
  sockaddr_un address;
  const socklen_t length = fill_address(address_, address);
  ZT_REQUIRE(events_ >= 0 && listener_ >= 0 &&
                 bind(listener_, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                 listen(listener_, SOMAXCONN) == 0,
             "the launcher can't open a socket for its ranks: ", std::strerror(errno));
  watch(events_, listener_);
}

RankWatch::~RankWatch() {
  for (const auto& [descriptor, rank] : ranks_) close(descriptor);
  for (const int descriptor : {listener_, events_})
    if (descriptor >= 0) close(descriptor);
}

void RankWatch::wait(int also, int milliseconds) {
  if (also >= 0 && also_ != also) {
    watch(events_, also);
    also_ = also;
  }
  take(milliseconds);
}

bool RankWatch::collect() {
  if (also_ >= 0) epoll_ctl(events_, EPOLL_CTL_DEL, also_, nullptr);
  also_ = -1;
  return take(0);
}

bool RankWatch::take(int milliseconds) {
  // The kernel lists descriptors in the order in which they became ready: the first to vanish comes first.
  epoll_event found[64];
  const int count = epoll_wait(events_, found, 64, milliseconds);
  for (int i = 0; i < count; ++i) handle(found[i].data.fd);
  return count > 0;
}

void RankWatch::accept_rank() {
  const int descriptor = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (descriptor < 0) {
    const bool passes = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    if (!passes) epoll_ctl(events_, EPOLL_CTL_DEL, listener_, nullptr);  // no descriptors left: go on without
    return;
  }
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.uid != geteuid()) {
    close(descriptor);
    return;
  }
  ranks_[descriptor] = {-1, peer.pid};
  watch(events_, descriptor);
}

void RankWatch::handle(int descriptor) {
  if (descriptor == listener_) return accept_rank();
  const auto rank = ranks_.find(descriptor);
  if (rank == ranks_.end()) return;
  std::string text(kMostBytes, '\0');
  const ssize_t length = recv(descriptor, text.data(), text.size(), MSG_DONTWAIT);
  if (length < 0 && (errno == EAGAIN || errno == EINTR)) return;
  text.resize(length > 0 ? size_t(length) : 0);
  if (text == "done") {
    rank->second.rank = -1;
  } else if (text.starts_with(kFails)) {
    explained_ = true;
    const std::string message = text.substr(kFails.size());
    if (!message.empty() && said_.insert(message).second)
      log_error(join_message("rank ", rank->second.rank, ": ", message));
  } else if (!text.empty()) {
    rank->second.rank = std::atoi(text.c_str());
    ++num_seen_;
  } else {
    if (rank->second.rank >= 0 && !explained_ && !death_) death_ = rank->second;
    close(descriptor);
    ranks_.erase(rank);
  }
}

RankReport::RankReport() {
  const char* name = std::getenv(kVariable);
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (name == nullptr || rank == nullptr) return;
  signal(SIGUSR1, SIG_IGN);  // mpirun resets what it catches itself: from here on an early one does no harm
  sockaddr_un address;
  const socklen_t length = fill_address(name, address);
  socket_ = open_socket();
  // Without the launcher's ear a rank runs as well: it is there for the message alone.
  if (socket_ < 0 || connect(socket_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      send(socket_, rank, std::strlen(rank), MSG_NOSIGNAL) < 0) {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }
}

RankReport::~RankReport() {
  done();
  if (socket_ >= 0) close(socket_);
}

void RankReport::done() { say("done"); }

bool RankReport::fails(const std::string& message) {
  const std::string text = std::string(kFails) + message;
  if (text.size() <= kMostBytes && say(text)) return true;
  say(kFails);
  return false;
}

bool RankReport::say(std::string_view text) {
  return socket_ >= 0 && send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

}  // namespace zoetrope
