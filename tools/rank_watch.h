// How the launcher learns which rank died first, and why: every rank holds a socket to it, which the kernel
// closes with the process. mpirun alone knows the ranks as its children, and it ends the others within
// milliseconds.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace zoetrope {

/// The launcher's side: listens before mpirun starts, then collects what ranks say and which ones vanish.
/// Prints the ranks' errors as they come, each message once, naming the first rank that sent it.
class RankWatch {
 public:
  /// Throws: Error when the system gives no socket.
  RankWatch();
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

  /// What ranks need to find this launcher; handed on in the environment.
  const std::string& address() const { return address_; }
  /// Sleeps until a rank does something, `also` becomes readable, or the time is over.
  void wait(int also, int milliseconds);
  /// Takes what is there already. False when nothing was.
  bool collect();

  struct Death {
    int rank = 0;
    pid_t pid = 0;
  };
  /// The first rank that vanished without a word; none when a rank had said before that it ends all.
  std::optional<Death> first_death() const { return death_; }
  /// Ranks that have said who they are so far, the ended ones among them: they outlive a SIGUSR1.
  int num_seen() const { return num_seen_; }

 private:
  bool take(int milliseconds);
  void handle(int descriptor);
  void accept_rank();

  int events_ = -1, listener_ = -1, also_ = -1;
  std::string address_;
  std::map<int, Death> ranks_;  ///< by descriptor
  bool explained_ = false;      ///< a rank said that it ends all
  std::set<std::string> said_;  ///< errors that were printed
  std::optional<Death> death_;
  int num_seen_ = 0;
};

/// A rank's side: does nothing in a process that no launcher started.
class RankReport {
 public:
  RankReport();
  ~RankReport();  ///< says `done`
  RankReport(const RankReport&) = delete;
  RankReport& operator=(const RankReport&) = delete;
  /// Says that whatever ends this process from now on is no fault: mpirun ends the others as soon as one rank
  /// has ended with an exit code that is not 0.
  void done();
  /// Says that this rank is about to end all, and why. False when no launcher will print the message.
  bool fails(const std::string& message);

 private:
  bool say(std::string_view text);
  int socket_ = -1;
};

}  // namespace zoetrope
