# The engines and the session are a library of their own, so that tests can drive both sides in one process.
add_library(railgauge_session STATIC
  arguments.cc check_plans.cc byte_check.cc client_run.cc client_session.cc connection_options.cc conversation.cc evaluate.cc headline.cc
  local_host.cc measured_path.cc nic_lock.cc plan_options.cc progress.cc publish.cc serve.cc server_session.cc signals.cc strict_options.cc
  supervise.cc
  check.cc measure_commands.cc rates_command.cc
  ${engine_sources})
add_library(railgauge::session ALIAS railgauge_session)
target_include_directories(railgauge_session PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(railgauge_session
  PUBLIC railgauge::base railgauge::host railgauge::plan railgauge::stats railgauge::rates railgauge::memory railgauge::transport
         railgauge::tcp railgauge::verbs railgauge::loops railgauge::results railgauge::control railgauge::report
  PRIVATE CLI11::CLI11 railgauge_warnings)

add_executable(railgauge main.cc)
target_link_libraries(railgauge PRIVATE railgauge_session CLI11::CLI11 railgauge_warnings)
install(TARGETS railgauge RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
