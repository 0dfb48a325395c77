# cpack reads this once for each kind of package. Without these two tools CPack stops with a word about `file` that names no
# package, or, worse, makes a .deb without dependencies, whose program does not start where libfmt is missing.
function(railgauge_deb_needs variable tool package)
  find_program(${variable} ${tool})  # the variables of CPack's own search
  if(NOT EXISTS "${${variable}}")
    message(FATAL_ERROR "A .deb needs the package ${package} to find what railgauge depends on: "
      "run scripts/packages build (or apt-get install ${package}), or make only the .tar.gz: cpack -G TGZ …")
  endif()
endfunction()
if(CPACK_GENERATOR STREQUAL "DEB")
  railgauge_deb_needs(FILE_EXECUTABLE file file)
  railgauge_deb_needs(SHLIBDEPS_EXECUTABLE dpkg-shlibdeps dpkg-dev)
endif()
