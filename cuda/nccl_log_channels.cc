// Channels, rings and trees. Formats: NCCL src/transport/{net,p2p,shm,coll_net}.cc and src/init.cc, 2.30.7; older releases by nccl-facts.
#include <algorithm>
#include <iterator>

#include "cuda/nccl_log_lines.h"
#include "cuda/nccl_log_scan.h"

namespace railgauge::cuda {
namespace {

/// "Channel 02/0 :": what all of these lines begin with.
struct Head {
  int channel = 0;
  std::optional<int> second;                  ///< connection, or the number of channels before a ring
};

/// "9[1]"
struct End {
  int rank = 0;
  std::optional<std::string> device;
};

std::optional<Head> take_head(Scanner& scanner) {
  bool named = false;
  for (const std::string_view word : {"Channel ", "Ring ", "CollNet ", "Coll "}) named = named || scanner.take(word);
  const auto channel = scanner.integer();
  if (!named || !channel || *channel < 0) return std::nullopt;
  Head head{*channel, std::nullopt};
  if (scanner.take("/")) {
    head.second = scanner.integer();
    if (!head.second) return std::nullopt;
  }
  scanner.skip_spaces();
  if (!scanner.take(":")) return std::nullopt;
  scanner.skip_spaces();
  return head;
}

std::optional<End> take_end(Scanner& scanner) {
  const auto rank = scanner.integer();
  if (!rank || *rank < 0) return std::nullopt;
  End end{*rank, std::nullopt};
  if (scanner.take("[")) {
    end.device = std::string(scanner.until("] "));
    if (!scanner.take("]")) return std::nullopt;
  }
  return end;
}

std::optional<ChannelDirection> take_direction(Scanner& scanner) {
  if (scanner.take("[send] ")) return ChannelDirection::send;
  if (scanner.take("[receive] ")) return ChannelDirection::receive;
  return std::nullopt;
}

/// What follows "via NET/" or "via COLLNET/".
struct Network {
  std::string name;
  int net_dev = 0;
  std::optional<int> proxy_rank;
  bool gdr = false, gdr_pci = false, shared = false;
  std::string more;
};

/// The name, which may have spaces, ends at the first "/<digits>" that is a whole field.
bool take_network_name(Scanner& scanner, Network& network) {
  const std::string_view all = scanner.rest();
  for (std::size_t slash = all.find('/'); slash != std::string_view::npos; slash = all.find('/', slash + 1)) {
    Scanner field(all.substr(slash + 1));
    const auto number = field.integer();
    const bool whole = field.done() || std::string_view("/( ").find(field.rest().front()) != std::string_view::npos;
    if (slash == 0 || !number || *number < 0 || !whole) continue;
    network.name = std::string(all.substr(0, slash));
    network.net_dev = *number;
    scanner = field;
    return true;
  }
  return false;
}

/// "(7)/GDRDMA(PCI)/Shared" and what releases to come may add; false for a suffix that ends within "/GDRDMA".
bool take_suffixes(Scanner& scanner, Network& network) {
  if (scanner.take("(")) {
    network.proxy_rank = scanner.integer();
    if (!network.proxy_rank || !scanner.take(")")) return false;
  }
  while (scanner.take("/")) {
    const std::string_view word = scanner.until("/ (");
    if (word == "GDRDMA") network.gdr = true;
    else if (word == "Shared") network.shared = true;
    else if (std::string_view("GDRDMA").starts_with(word) || std::string_view("Shared").starts_with(word)) return false;
    else network.more.append("/").append(word);
    if (!scanner.take("(")) continue;
    const std::string_view note = scanner.until(") ");
    if (!scanner.take(")")) return false;
    if (note == "PCI") network.gdr_pci = true;
    else network.more.append("(").append(note).append(")");
  }
  // RCCL adds " comm 0x… nRanks 08"; anything else that touches the line is a torn one.
  return scanner.done() || scanner.rest().front() == ' ';
}

std::optional<Network> take_network(Scanner& scanner) {
  Network network;
  if (!take_network_name(scanner, network) || !take_suffixes(scanner, network)) return std::nullopt;
  return network;
}

bool read_local(NcclLog& log, LocalChannel channel, Scanner scanner) {
  if (scanner.take("SHM") || scanner.take("direct shared memory")) {
    channel.path = LocalPath::shm;
    channel.copy_engine = scanner.rest().find("/CE") != std::string_view::npos;
  } else if (!scanner.take("P2P/")) {
    return false;
  } else if (scanner.take("direct pointer")) {
    channel.path = LocalPath::p2p_direct_pointer;
  } else if (scanner.take("indirect/")) {
    const std::optional<End> through = take_end(scanner);
    if (!through) return false;
    channel.path = LocalPath::p2p_indirect;
    channel.through_rank = through->rank;
  } else {
    const std::string_view kind = scanner.until("/ ");
    if (kind.empty() || (kind.size() < 5 && std::string_view("CUMEM").starts_with(kind))) return false;
    if (kind == "CUMEM") channel.path = LocalPath::p2p_cumem;
    if (kind == "MNNVL") channel.path = LocalPath::p2p_mnnvl;
    if (kind == "IPC") channel.path = LocalPath::p2p_ipc;
  }
  while (scanner.take("/")) {
    const std::string_view flag = scanner.until("/ ");
    channel.read = channel.read || flag == "read";
    channel.copy_engine = channel.copy_engine || flag == "CE";
  }
  log.local_channels.push_back(std::move(channel));
  return true;
}

/// "0   7   6   5": an empty or interrupted list is none.
std::optional<std::vector<int>> take_ranks(Scanner& scanner) {
  std::vector<int> ranks;
  while (!scanner.done()) {
    const auto rank = scanner.integer();
    if (!rank || *rank < 0) return std::nullopt;
    ranks.push_back(*rank);
    if (!scanner.done() && scanner.rest().front() != ' ') return std::nullopt;
    scanner.skip_spaces();
  }
  if (ranks.empty()) return std::nullopt;
  return ranks;
}

bool read_collnet(NcclLog& log, const Origin& origin, const Head& head, int rank, Scanner scanner) {
  const auto direction = take_direction(scanner);
  if (!direction || !scanner.take("via COLLNET/")) return false;
  std::optional<Network> network = take_network(scanner);
  if (!network) return false;
  log.collnet_channels.push_back({origin, head.channel, head.second, rank, *direction, std::move(network->name), network->net_dev, network->gdr});
  return true;
}

bool read_pair(NcclLog& log, const Origin& origin, const Head& head, End from, Scanner scanner) {
  std::optional<End> to = take_end(scanner);
  if (!to) return false;
  scanner.skip_spaces();
  const auto direction = take_direction(scanner);
  if (!scanner.take("via ")) return false;
  if (!scanner.take("NET/")) return read_local(log, {origin, head.channel, head.second, from.rank, to->rank, {}, {}, {}, {}}, scanner);
  std::optional<Network> network = take_network(scanner);
  if (!network) return false;
  log.net_channels.push_back({origin, head.channel, head.second, from.rank, to->rank, std::move(from.device), std::move(to->device),
                              direction, std::move(network->name), network->net_dev, network->proxy_rank, network->gdr,
                              network->gdr_pci, network->shared, std::move(network->more)});
  return true;
}

}  // namespace

bool read_channel(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  const std::optional<Head> head = take_head(scanner);
  if (!head) return false;
  Scanner list = scanner;
  std::optional<End> from = take_end(scanner);
  if (!from) return false;
  scanner.skip_spaces();
  if (scanner.take("->")) {
    scanner.skip_spaces();
    return read_pair(log, origin, *head, std::move(*from), scanner);
  }
  if (scanner.rest().starts_with('[')) return read_collnet(log, origin, *head, from->rank, scanner);
  std::optional<std::vector<int>> ranks = take_ranks(list);
  if (!ranks || (head->second && head->channel >= *head->second)) return false;  // "Channel 03/0 : 9" is half a channel line
  log.rings.push_back({origin, head->channel, head->second, std::move(*ranks)});
  return true;
}

bool read_trees(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  if (!scanner.take("Trees")) return false;
  std::vector<Tree> trees;
  for (scanner.skip_spaces(); scanner.take("["); scanner.skip_spaces()) {
    const auto channel = scanner.integer();
    if (!channel || !scanner.take("]")) return false;
    scanner.skip_spaces();
    Tree tree{origin, *channel, {}, 0, 0};
    do {
      const auto child = scanner.integer();
      if (!child) return false;
      tree.children.push_back(*child);
    } while (scanner.take("/"));
    const auto rank = scanner.take("->") ? scanner.integer() : std::nullopt;
    const auto parent = scanner.take("->") ? scanner.integer() : std::nullopt;
    if (!rank || !parent) return false;
    tree.rank = *rank;
    tree.parent = *parent;
    trees.push_back(std::move(tree));
    scanner.until(" ");  // "|…": the second tree that releases up to 2.7 wrote here
  }
  if (trees.empty() || !scanner.done()) return false;
  std::move(trees.begin(), trees.end(), std::back_inserter(log.trees));
  return true;
}

bool read_connected(NcclLog& log, const Origin& origin) {
  Scanner scanner(origin.text);
  if (!scanner.take("Connected ")) return false;
  ConnectedLine line{origin, std::string(scanner.until(",")), std::nullopt, std::nullopt};
  const bool known = line.what == "all rings" || line.what == "all trees" || line.what == "binomial trees" || line.what == "NVLS tree" ||
                     line.what.starts_with("Collnet Chains");
  if (!known) return false;
  if (scanner.take(", use ring PXN ")) {
    const auto pxn = scanner.integer();
    const auto gdr = scanner.take(" GDR ") ? scanner.integer() : std::nullopt;
    if (!pxn || !gdr) return false;
    line.pxn = *pxn != 0;
    line.gdr = *gdr != 0;
  }
  log.connected.push_back(std::move(line));
  return true;
}

}  // namespace railgauge::cuda
