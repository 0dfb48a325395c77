#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "transport/offer.h"

namespace railgauge::control {

/// Bodies of messages. Every field is read through one checked accessor: presence, type, range and length; what does not
/// fit is Error{peer} naming message, field, what was found and what is allowed. Unknown fields are ignored (a newer minor
/// version may send them). facts, prepare and result bodies are documents of lib/results and pass through as text.

/// Why a side cannot go on.
struct Failure {
  ErrorKind kind = ErrorKind::system;
  int code = 0;
  std::string stage;  ///< "prepare", "connect", "run", "verify", "control"; ≤ 64 bytes
  std::string text;   ///< ≤ 4096 bytes; longer is cut when sent
  bool operator==(const Failure&) const = default;
};
std::string to_json(const Failure& failure);
Failure failure_from_json(std::string_view body);

/// This side's active part has ended.
struct Done {
  std::vector<std::uint64_t> completed;  ///< messages of each QP that completed with success, in the order of the offer; empty: not counted
  bool operator==(const Done&) const = default;
};
std::string to_json(const Done& done);
/// An empty body counts nothing: what the first versions sent.
Done done_from_json(std::string_view body);

/// End now, keep what there is.
struct Stop {
  std::string reason;  ///< "Ctrl-C on host A"; ≤ 4096 bytes
  bool operator==(const Stop&) const = default;
};
std::string to_json(const Stop& stop);
Stop stop_from_json(std::string_view body);

/// What another client is told.
struct Busy {
  std::string text;    ///< "busy with … for …, for about N s more"; ≤ 4096 bytes
  bool operator==(const Busy&) const = default;
};
std::string to_json(const Busy& busy);
Busy busy_from_json(std::string_view body);

/// QPs of one offer: what fits a 16 MiB frame. More is Error{usage} when sent, Error{peer} when received.
inline constexpr std::size_t kMaxOfferQps = 131072;

/// The offer of lib/transport as a prepared or connect body, and back.
std::string offer_to_json(const transport::Offer& offer);
transport::Offer offer_from_json(std::string_view body);

}  // namespace railgauge::control
