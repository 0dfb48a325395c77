# cmake --install, and CPack's .deb and .tar.gz: `cpack --config build/release/CPackConfig.cmake -B build/packages`.
foreach(name rdma tcp)
  install(CODE "execute_process(COMMAND \${CMAKE_COMMAND} -E create_symlink railgauge
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/railgauge-${name}\")")
endforeach()
install(DIRECTORY results-schema/ DESTINATION ${CMAKE_INSTALL_DATADIR}/railgauge/results-schema)
install(FILES README.md LICENSE scripts/railgauge.service DESTINATION ${CMAKE_INSTALL_DOCDIR})
set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_PACKAGE_NAME railgauge)
set(CPACK_PACKAGE_CONTACT "railgauge developers <railgauge@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "RDMA and TCP benchmarks that say what a link should carry and why it does not")
set(CPACK_PACKAGE_DESCRIPTION "Measures bandwidth, message rate and latency of RDMA (write, read, send, atomics) and TCP between two hosts,
verifies the data, compares the figures with what the hardware should deliver and writes one JSON record with a schema.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ibverbs-providers, librdmacm1")  # loaded at run time, so no library of ours names them
set(CPACK_STRIP_FILES ON)
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/scripts/cmake/RailgaugeDebian.cmake")
include(CPack)
