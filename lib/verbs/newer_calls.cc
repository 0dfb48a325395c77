#include "verbs/newer_calls.h"

#include <dlfcn.h>

namespace railgauge::verbs {
namespace {

/// Where the library that defines the first `name` in load order begins; null when there is none.
void* find(const char* name, void*& library) noexcept {
  Dl_info info{};
  void* symbol = dlsym(RTLD_DEFAULT, name);
  library = symbol != nullptr && dladdr(symbol, &info) != 0 ? info.dli_fbase : nullptr;
  return symbol;
}

/// A stand-in that is loaded before the system's library hides only what it defines; the rest would be the system's,
/// which takes the stand-in's objects for its own.
template <typename Call>
void look_up(const char* name, const void* wanted, Call& call) noexcept {
  void* library = nullptr;
  void* symbol = find(name, library);
  if (library != nullptr && library == wanted) call = reinterpret_cast<Call>(symbol);
}

NewerCalls look_up_all() noexcept {
  NewerCalls calls;
  void* library = nullptr;
  find("ibv_open_device", library);
  look_up("_ibv_query_gid_table", library, calls.query_gid_table);
  look_up("_ibv_query_gid_ex", library, calls.query_gid_ex);
  look_up("ibv_reg_mr_iova2", library, calls.reg_mr_iova2);
  look_up("ibv_reg_dmabuf_mr", library, calls.reg_dmabuf_mr);
  look_up("ibv_query_qp_data_in_order", library, calls.query_qp_data_in_order);
  return calls;
}

}  // namespace

const NewerCalls& newer_calls() noexcept {
  static const NewerCalls calls = look_up_all();
  return calls;
}

}  // namespace railgauge::verbs
