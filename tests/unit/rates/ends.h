#pragma once
#include "rates/expect.h"

namespace railgauge::rates::testing_ends {

using host::Fact;

/// A port that is up and prints "<rate> Gb/sec (<width>X <speed>)".
inline host::RdmaPort port_of(host::LinkLayer layer, double printed, int width, const std::string& speed, int mtu = 4096) {
  host::RdmaPort port;
  port.state = Fact<std::string>::of("ACTIVE");
  port.physical_state = Fact<std::string>::of("LinkUp");
  port.rate_gbit_per_s = Fact<double>::of(printed);
  port.width = Fact<int>::of(width);
  port.speed = Fact<std::string>::of(speed);
  port.link_layer = layer;
  port.active_mtu_bytes = Fact<int>::of(mtu);
  return port;
}

inline host::PciLink pci_link(const std::string& address, double gt_per_s, int width) {
  host::PciLink link;
  link.address = address;
  link.current_gt_per_s = Fact<double>::of(gt_per_s);
  link.current_width = Fact<int>::of(width);
  return link;
}

inline RdmaEnd end_of(const std::string& host_name, const std::string& device, host::RdmaPort port) {
  RdmaEnd end;
  end.host = host_name;
  end.device.name = device;
  end.device.driver = Fact<std::string>::of("mlx5_core");
  end.device.pci.max_payload_bytes = Fact<int>::of(256);
  end.port = std::move(port);
  return end;
}

inline host::Netdev netdev_of(const std::string& name, double gbit_per_s, int mtu = 9000) {
  host::Netdev netdev;
  netdev.name = name;
  netdev.mtu_bytes = Fact<int>::of(mtu);
  netdev.speed_gbit_per_s = Fact<double>::of(gbit_per_s);
  netdev.carrier = Fact<bool>::of(true);
  netdev.type = Fact<int>::of(1);
  return netdev;
}

inline host::Gid roce_v2_ipv4(const std::string& netdev) {
  return {3, "0000:0000:0000:0000:0000:ffff:c0a8:0a64", host::GidType::roce_v2, netdev, "192.168.10.100"};
}

}  // namespace railgauge::rates::testing_ends
