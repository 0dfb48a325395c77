#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace railgauge::control {

/// Bodies of the messages between rank 0 and the other ranks of a job; read through the same checked accessor as messages.h,
/// whose rules hold here too.

/// The most ranks of one job: a roster of so many stays well below 16 MiB and a million values.
inline constexpr int kMaxRanks = 16384;

/// What a rank says of itself.
struct Member {
  int rank = 0;
  int world = 1;
  std::string hostname{};                            ///< ≤ 255 bytes, as all texts here
  std::optional<std::string> boot_id{};              ///< tells hosts apart whatever their names
  std::int64_t pid = 0;
  std::string tool_version{};                        ///< "0.1.0"
  std::optional<std::string> nccl_version{};         ///< "2.27.5", of the library loaded; nothing: none loaded
  std::optional<std::string> cuda_driver_version{};  ///< "13.0"
  std::optional<std::string> gpu_pci_address{};      ///< "0000:41:00.0"
  std::optional<std::string> gpu_uuid{};
  std::string launcher{};                            ///< cluster::name_of(Launcher)
  std::string job{};                                 ///< the launcher's name of the job, or nothing
  bool operator==(const Member&) const = default;
};
std::string to_json(const Member& member);
Member member_from_json(std::string_view body);

/// All ranks, in order, and what rank 0 hands to each.
struct Roster {
  std::vector<Member> members;
  std::string blob;  ///< any bytes, ≤ kMaxBlobBytes: NCCL's ids
  bool operator==(const Roster&) const = default;
};
inline constexpr std::size_t kMaxBlobBytes = 64u << 10;
/// Throws Error{usage} for a longer blob.
std::string to_json(const Roster& roster);
Roster roster_from_json(std::string_view body);

/// What a rank does from now on, for those who wait for it. Longer than kMaxStepBytes is cut when sent.
struct Step {
  std::string text;
  bool operator==(const Step&) const = default;
};
inline constexpr std::size_t kMaxStepBytes = 1024;
std::string to_json(const Step& step);
Step step_from_json(std::string_view body);

/// The longest text of an arrival or a release: reading and writing its JSON takes a quarter of a second on a slow core, and
/// the thread that does it sends no heartbeat meanwhile.
inline constexpr std::size_t kMaxTextBytes = 4u << 20;

/// A rank waits for all others.
struct Arrival {
  std::string kind;    ///< "barrier", "gather", "broadcast"
  std::string name;    ///< the same on all ranks; ≤ 255 bytes
  std::string text{};  ///< what it brings; UTF-8, ≤ kMaxTextBytes
  std::chrono::milliseconds budget{0};  ///< how long it waits; ≤ 24 h
  bool operator==(const Arrival&) const = default;
};
/// Throws Error{usage} if a text is no UTF-8 or too long.
std::string to_json(const Arrival& arrival);
Arrival arrival_from_json(std::string_view body);

/// All are there.
struct Release {
  std::string text{};  ///< what rank 0 brought to a broadcast
  bool operator==(const Release&) const = default;
};
/// Throws Error{usage} if the text is no UTF-8 or too long.
std::string to_json(const Release& release);
Release release_from_json(std::string_view body);

}  // namespace railgauge::control
