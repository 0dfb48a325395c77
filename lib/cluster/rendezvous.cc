#include "cluster/rendezvous.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "base/file.h"
#include "cluster/hub.h"
#include "cluster/seat.h"
#include "cluster/spoke.h"
#include "control/messages.h"

namespace railgauge::cluster {
namespace {

// Rank 0 keeps the deadlines and says who is missing; its word, or the silence after its death, comes sooner than this.
constexpr std::chrono::seconds kGrace{6};

Protection protection_of(const RendezvousOptions& options) {
  if (!options.token.empty()) return Protection::token;
  if (options.launch.world == 1 || is_loopback(*options.launch.rendezvous)) return Protection::loopback;
  if (options.open || options.launch.launched) return Protection::open;
  throw Error(ErrorKind::usage,
              fmt::format("ranks that meet on {} without a token let in whoever reaches the port: give all of them the same "
                          "RAILGAUGE_TOKEN or --token-file, or ask for it with --open",
                          options.launch.rendezvous->host));
}

const RendezvousOptions& checked(const RendezvousOptions& options) {
  if (options.launch.world > 1 && !options.launch.rendezvous)
    throw Error(ErrorKind::usage, "where rank 0 listens is not known: give --master HOST[:PORT]");
  return options;
}

RendezvousOptions with_identity(RendezvousOptions options) {
  options.self.rank = options.launch.rank;
  options.self.world = options.launch.world;
  options.self.launcher = name_of(options.launch.source);
  options.self.job = options.launch.job;
  return options;
}

}  // namespace

struct Rendezvous::Parts {
  Seat seat{};
  std::unique_ptr<Hub> hub{};      // rank 0
  std::unique_ptr<Spoke> spoke{};  // the others
};

const char* name_of(Protection protection) noexcept {
  switch (protection) {
    case Protection::token:
      return "token";
    case Protection::loopback:
      return "loopback";
    case Protection::open:
      return "open";
  }
  return "open";
}

control::Member this_process(const LaunchContext& launch) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"?"};
  control::Member member{.rank = launch.rank, .world = launch.world, .hostname = host.data(), .pid = ::getpid()};
  member.boot_id = read_text_file("/proc/sys/kernel/random/boot_id").text;
  member.launcher = name_of(launch.source);
  member.job = launch.job;
  return member;
}

Rendezvous::Rendezvous(const RendezvousOptions& options)
    : rank_(options.launch.rank), protection_(protection_of(checked(options))), parts_(std::make_unique<Parts>()) {
  if (rank_ == 0) {
    parts_->hub = std::make_unique<Hub>(with_identity(options), parts_->seat);
  } else {
    parts_->spoke = std::make_unique<Spoke>(with_identity(options), parts_->seat);
  }
  // Anew once rank 0 is found: it may have started late, and then the others have its whole budget.
  Deadline deadline = Deadline::after(options.budget + kGrace);
  roster_ = parts_->seat.await(deadline, "waiting for all ranks").roster;
}

Rendezvous::~Rendezvous() = default;

void Rendezvous::report_step(const std::string& step) { parts_->seat.say(control::MessageType::step, to_json(control::Step{step})); }

void Rendezvous::barrier(const std::string& name, Deadline deadline) { (void)exchange("barrier", name, {}, deadline); }

std::vector<std::string> Rendezvous::gather(const std::string& name, const std::string& text, Deadline deadline) {
  return exchange("gather", name, text, deadline);
}

std::string Rendezvous::broadcast(const std::string& name, const std::string& text, Deadline deadline) {
  return exchange("broadcast", name, rank_ == 0 ? text : std::string(), deadline).at(0);
}

std::vector<std::string> Rendezvous::exchange(const char* kind, const std::string& name, const std::string& text, Deadline deadline) {
  if (auto reason = ended()) throw *reason;
  auto budget = std::chrono::ceil<std::chrono::milliseconds>(deadline.remaining());
  parts_->seat.say(control::MessageType::arrive, to_json(control::Arrival{kind, name, text, budget}));
  return parts_->seat.await(Deadline(deadline.at() + kGrace), fmt::format("waiting in {} \"{}\"", kind, name)).texts;
}

void Rendezvous::fail(const Error& error) {
  parts_->seat.say(control::MessageType::failure, control::to_json(control::Failure{error.kind(), error.code(), "rank", error.what()}));
}
void Rendezvous::stop(const std::string& reason) { parts_->seat.say(control::MessageType::stop, control::to_json(control::Stop{reason})); }

std::optional<Error> Rendezvous::ended() const { return parts_->seat.ended(); }
int Rendezvous::ended_fd() const noexcept { return parts_->seat.ended_fd(); }

}  // namespace railgauge::cluster
