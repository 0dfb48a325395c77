#include "verbs/cm_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/error.h"

namespace railgauge::verbs {
namespace {

constexpr const char* kFile = "librdmacm.so.1";

[[noreturn]] void not_usable() {
  const char* why = dlerror();
  throw Error(ErrorKind::system, fmt::format("connecting by rdma_cm needs {}: {}: install it (Debian: `apt install librdmacm1`); devices other than "
                                                  "iWARP can use --connect socket instead",
                                                  kFile, why != nullptr ? why : "not usable"));
}

template <typename Call>
void look_up(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(dlsym(library, name));
  if (call == nullptr) not_usable();
}

CmLibrary load() {
  void* library = dlopen(kFile, RTLD_NOW | RTLD_LOCAL);  // for the life of the process: its objects may be anywhere
  if (library == nullptr) not_usable();
  CmLibrary calls;
  look_up(library, "rdma_create_event_channel", calls.create_event_channel);
  look_up(library, "rdma_destroy_event_channel", calls.destroy_event_channel);
  look_up(library, "rdma_create_id", calls.create_id);
  look_up(library, "rdma_destroy_id", calls.destroy_id);
  look_up(library, "rdma_set_option", calls.set_option);
  look_up(library, "rdma_bind_addr", calls.bind_addr);
  look_up(library, "rdma_listen", calls.listen);
  look_up(library, "rdma_get_src_port", calls.get_src_port);
  look_up(library, "rdma_resolve_addr", calls.resolve_addr);
  look_up(library, "rdma_resolve_route", calls.resolve_route);
  look_up(library, "rdma_init_qp_attr", calls.init_qp_attr);
  look_up(library, "rdma_connect", calls.connect);
  look_up(library, "rdma_accept", calls.accept);
  look_up(library, "rdma_reject", calls.reject);
  look_up(library, "rdma_establish", calls.establish);
  look_up(library, "rdma_disconnect", calls.disconnect);
  look_up(library, "rdma_get_cm_event", calls.get_cm_event);
  look_up(library, "rdma_ack_cm_event", calls.ack_cm_event);
  look_up(library, "rdma_event_str", calls.event_str);
  return calls;
}

}  // namespace

const CmLibrary& cm_library() {
  static const CmLibrary calls = load();
  return calls;
}

}  // namespace railgauge::verbs
