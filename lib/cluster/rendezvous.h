#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "cluster/launch_context.h"
#include "control/job_messages.h"
#include "control/protocol.h"

namespace railgauge::cluster {

/// How long ranks wait for each other to come; from nccl-facts.md, section 3.
inline constexpr std::chrono::seconds kMeetingBudget{60};

/// Who can join, read or alter what the ranks say to each other; for the record.
enum class Protection {
  token,     ///< who knows the token
  loopback,  ///< whoever is on this host
  open,      ///< whoever reaches the port: there is no token, and a launcher started the ranks (or open was asked for)
};
/// "token", "loopback", "open".
const char* name_of(Protection protection) noexcept;

struct RendezvousOptions {
  LaunchContext launch{};
  /// This process; rank, world, launcher and job are taken from `launch`. See this_process().
  control::Member self{};
  std::string token{};                           ///< the same on all ranks; empty: none
  bool open = false;                             ///< no token beyond loopback is wanted, also without a launcher
  std::string blob{};                            ///< rank 0's, for all: NCCL's unique id; ≤ control::kMaxBlobBytes
  Clock::duration budget = kMeetingBudget;       ///< to find rank 0, and from then on until all ranks are here
  int stop_fd = -1;                              ///< once readable (Ctrl-C), this rank stops and with it all
  Clock::duration silence_limit = control::kSilenceLimit;  ///< tests shorten it
  /// Called on rank 0, before anybody is waited for, with the port in use; for tests and a line on the screen.
  std::function<void(std::uint16_t)> on_listening{};
};

/// Host name, boot id and process of the caller, and what `launch` says. Versions and GPU are the caller's to fill in.
control::Member this_process(const LaunchContext& launch);

/// All ranks of a job, met: a star of sealed channels around rank 0 that stays for as long as the object lives. A thread of
/// its own serves it, so that a rank that vanishes or freezes is noticed within 5 s by rank 0, which tells the others, also
/// while everybody is busy elsewhere. What ends one rank ends all, with the same reason: the loss of a rank, fail(), a stop,
/// a deadline. One thread at a time calls barrier, gather and broadcast; the rest any thread.
class Rendezvous {
 public:
  /// Blocks until all ranks are here. Rank 0 listens on launch.rendezvous (on all addresses of its host, or on loopback
  /// alone if that is one); the others try to reach it until the budget is spent. Throws Error{timeout} naming the missing
  /// ranks, on every rank that is there; Error{usage} for a second process of the same rank, another world or job, versions
  /// with another major, a port that is taken, no token beyond loopback without a launcher; Error{peer} for a wrong token
  /// and for a rank that vanishes; Error{peer}, code ECANCELED, when stopped.
  explicit Rendezvous(const RendezvousOptions& options);
  /// Leaves: others that wait for this rank then fail. Call fail() first if an error is the reason. Takes at most 3 s.
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  int rank() const noexcept { return rank_; }
  int world() const noexcept { return static_cast<int>(roster_.members.size()); }
  /// All members, by rank. Valid as long as the object.
  const std::vector<control::Member>& roster() const noexcept { return roster_.members; }
  /// What rank 0 gave as blob.
  const std::string& blob() const noexcept { return roster_.blob; }
  Protection protection() const noexcept { return protection_; }

  /// What this rank does from now on, for those who wait for it and for the text of a deadline. Not in a measuring loop.
  void report_step(const std::string& step);

  /// Each of these returns when all ranks have called it with the same name (≤ 255 bytes). The earliest deadline of a rank
  /// that waits counts for all, and its Error{timeout} names the ranks that are missing with their hosts and last steps.
  /// Throws what ended the job; Error{usage} on all ranks if they do not call the same.
  void barrier(const std::string& name, Deadline deadline);
  /// All ranks' texts (UTF-8, ≤ control::kMaxTextBytes), by rank, at rank 0; nothing elsewhere.
  std::vector<std::string> gather(const std::string& name, const std::string& text, Deadline deadline);
  /// Rank 0's text, on all; what others give is not looked at.
  std::string broadcast(const std::string& name, const std::string& text, Deadline deadline);

  /// This rank cannot go on: all others end with "rank N (host) failed: <what>". Keeps kind and code.
  void fail(const Error& error);
  /// This rank was asked to stop: all end with "rank N (host) stopped: <reason>", code ECANCELED.
  void stop(const std::string& reason);

  /// Why the job is over, if it is; for those who poll elsewhere (NCCL's initialisation).
  std::optional<Error> ended() const;
  /// Readable once it is.
  int ended_fd() const noexcept;

 private:
  std::vector<std::string> exchange(const char* kind, const std::string& name, const std::string& text, Deadline deadline);

  struct Parts;
  int rank_;
  Protection protection_;
  std::unique_ptr<Parts> parts_;
  control::Roster roster_;
};

}  // namespace railgauge::cluster
