#include "control/door.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.h"
#include "base/log.h"
#include "control/resolve.h"
#include "control/socket.h"

namespace railgauge::control {
namespace {

// Between two looks at the peers, so that a flood of connects does not starve handshakes under way.
constexpr int kAcceptsPerRound = 32;
constexpr std::chrono::milliseconds kPauseWithoutMemory{50};
constexpr std::chrono::seconds kLogInterval{1};
constexpr std::chrono::hours kNever{24};

}  // namespace

void DoorLog::note(const std::string& text) {
  ++pending_;
  latest_ = text;
}

void DoorLog::flush_if_due() {
  if (pending_ == 0 || Clock::now() < next()) return;
  log_warning("{}{}", latest_, pending_ == 1 ? "" : fmt::format(" (and {} more since the last such line)", pending_ - 1));
  pending_ = 0;
  last_line_ = Clock::now();
}

Clock::time_point DoorLog::next() const noexcept { return pending_ == 0 ? Clock::now() + kNever : last_line_ + kLogInterval; }

Door::Door(const AcceptorOptions& options, Listeners listeners, OnAuthenticated on_authenticated)
    : options_(options),
      handshake_{key_from_token(options.token), !options.token.empty(), options.version},
      listeners_(std::move(listeners)),
      on_authenticated_(std::move(on_authenticated)),
      reserve_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {
  options_.token.clear();  // the key is all that is needed from here on
}

void Door::round(int wake_fd) {
  pollfd wake{wake_fd, POLLIN, 0};
  round({&wake, 1}, Deadline::after(kNever));
}

void Door::round(std::span<pollfd> others, Deadline latest) {
  std::vector<pollfd> fds(others.begin(), others.end());
  bool accepting = Clock::now() >= accept_again_;
  for (const UniqueFd& socket : listeners_.sockets) fds.push_back({socket.get(), static_cast<short>(accepting ? POLLIN : 0), 0});
  std::size_t first_peer = fds.size();
  for (const Peer& peer : peers_) fds.push_back({peer.fd.get(), POLLIN, 0});
  (void)poll_until(fds, latest.sooner(Deadline(next_instant())));
  std::copy_n(fds.begin(), others.size(), others.begin());
  for (std::size_t i = first_peer; i < fds.size(); ++i) {
    if (fds[i].revents != 0) serve_peer(peers_[i - first_peer]);
  }
  expire();
  for (std::size_t i = others.size(); i < first_peer; ++i) {
    if (accepting && fds[i].revents != 0) accept_some(fds[i].fd);
  }
  log_.flush_if_due();
}

Clock::time_point Door::next_instant() const {
  auto earliest = log_.next();
  if (accept_again_ > Clock::now()) earliest = std::min(earliest, accept_again_);
  for (const Peer& peer : peers_) earliest = std::min(earliest, peer.deadline.at());
  return earliest;
}

void Door::accept_some(int listener) {
  for (int i = 0; i < kAcceptsPerRound; ++i) {
    UniqueFd fd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) {
      admit(std::move(fd));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    } else if (!make_room(errno)) {
      return;
    }
  }
}

/// After a failed accept: true if it is worth trying again at once.
bool Door::make_room(int error) {
  // accept(2): errors of the connection itself (ECONNABORTED, EPROTO, ENETDOWN, …) are to be treated as "try again".
  if (error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM) return true;
  log_.note(fmt::format("the server is out of descriptors or memory for new connections: {}", errno_text(error)));
  if (!peers_.empty()) {
    drop_oldest();
    return true;
  }
  if (error == EMFILE && reserve_) {
    // Nobody to drop: take the connection with the descriptor held in reserve, and close it, or poll would spin on it.
    reserve_.reset();
    for (const UniqueFd& socket : listeners_.sockets) UniqueFd(::accept4(socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)).reset();
    reserve_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    count(&AcceptorCounts::crowded_out);
  }
  accept_again_ = Clock::now() + kPauseWithoutMemory;
  return false;
}

void Door::admit(UniqueFd fd) {
  count(&AcceptorCounts::accepted);
  try {
    set_channel_options(fd.get());
    Endpoints ends = endpoints_of(fd.get());
    while (peers_.size() >= static_cast<std::size_t>(std::max(options_.max_half_open, 1))) drop_oldest();
    peers_.push_back({std::move(fd), host_and_port(ends.peer_address, ends.peer_port), Handshake(Role::server, handshake_),
                      Deadline::after(options_.handshake_budget)});
  } catch (const std::exception& error) {
    log_.note(fmt::format("a new connection could not be taken: {}", error.what()));
  }
}

void Door::serve_peer(Peer& peer) {
  try {
    read_from(peer);
  } catch (const std::exception& error) {
    // Whatever it was, it ends this connection only.
    std::string_view what = error.what();
    log_.note(what.find(peer.name) == std::string_view::npos ? fmt::format("{}: {}", peer.name, what) : std::string(what));
    count(&AcceptorCounts::refused);
    peer.gone = true;
  }
}

void Door::read_from(Peer& peer) {
  std::array<std::uint8_t, kHelloBytes> room{};
  // No further than the block that is due: what follows the handshake belongs to the channel.
  IoResult got = receive_some(peer.fd.get(), std::span(room).first(peer.handshake.missing_bytes()));
  if (got.end == IoEnd::would_block) return;
  if (got.end != IoEnd::some) {
    count(&AcceptorCounts::refused);  // a port scan or health probe: not worth a line
    peer.gone = true;
    return;
  }
  (void)peer.handshake.feed(std::span(room).first(got.bytes));
  std::string output = peer.handshake.take_output();
  // A fresh socket takes these few bytes at once; one that does not is broken.
  if (!output.empty() && send_some(peer.fd.get(), output).bytes != output.size()) peer.gone = true;
  if (peer.handshake.state() == Handshake::State::refused) {
    log_.note(fmt::format("{} {}", peer.name, peer.handshake.refusal()));
    count(peer.handshake.wrong_proof() ? &AcceptorCounts::wrong_proofs : &AcceptorCounts::refused);
    peer.gone = true;
  }
  if (!peer.gone && peer.handshake.state() == Handshake::State::done) finish(peer);
}

void Door::finish(Peer& peer) {
  peer.gone = true;
  count(&AcceptorCounts::authenticated);
  on_authenticated_(Channel(std::move(peer.fd), peer.name, peer.handshake.session()));
}

void Door::expire() {
  for (Peer& peer : peers_) {
    if (peer.gone || !peer.deadline.passed()) continue;
    log_.note(fmt::format("{} connected and did not send {} in the time allowed", peer.name, peer.handshake.awaited()));
    count(&AcceptorCounts::too_slow);
    peer.gone = true;
  }
  std::erase_if(peers_, [](const Peer& peer) { return peer.gone; });
}

void Door::drop_oldest() {
  count(&AcceptorCounts::crowded_out);
  log_.note(fmt::format("too many connections that do not prove the token; the oldest, {}, was dropped", peers_.front().name));
  peers_.erase(peers_.begin());
}

void Door::count(std::uint64_t AcceptorCounts::*which) {
  std::lock_guard lock(mutex_);
  ++(counts_.*which);
}

AcceptorCounts Door::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace railgauge::control
