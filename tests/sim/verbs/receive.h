/// Messages that consume a receive: send, send with immediate, write with immediate.
#pragma once
#include "execute.h"
#include "objects.h"

namespace railgauge::simverbs {

struct Piece {
  char* bytes;
  std::uint64_t length;
};

struct Message {
  Message(const ibv_send_wr& request, std::uint64_t length, bool data, const MrShared* region) noexcept
      : wr(request), total(length), with_data(data), write(region) {}
  const ibv_send_wr& wr;
  std::uint64_t total;
  bool with_data;         ///< the bytes go into the receive's buffers
  const MrShared* write;  ///< the region of a write with immediate
  int piece_count = 0;
  Piece pieces[32];

  void add(const Piece& piece) noexcept { pieces[piece_count++] = piece; }
};

/// Consumes the peer's next receive, moves the bytes and pushes its completion.
Outcome deliver(SimQp& qp, Target& target, const Message& message) noexcept;

}  // namespace railgauge::simverbs
