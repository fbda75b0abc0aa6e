# What `cmake --install BUILD [--prefix /usr]` puts where (DESTDIR goes in front): the programs, and what both say of themselves: manual pages, and completion for
# bash and zsh, written when it is installed, by the program that is installed; the unit for systemd, and what there is to read.

include(GNUInstallDirs)

set(muster_said ${CMAKE_BINARY_DIR}/said)
install(TARGETS musterd muster RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(CODE "
    file(REMOVE_RECURSE \"${muster_said}\")
    file(MAKE_DIRECTORY \"${muster_said}/man1\" \"${muster_said}/man8\" \"${muster_said}/completion\")
    execute_process(COMMAND \"$<TARGET_FILE:muster>\" manual write \"${muster_said}/man1\" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND \"$<TARGET_FILE:musterd>\" --manual OUTPUT_FILE \"${muster_said}/man8/musterd.8\" COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND \"$<TARGET_FILE:muster>\" completion bash OUTPUT_FILE \"${muster_said}/completion/muster\" COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND \"$<TARGET_FILE:muster>\" completion zsh OUTPUT_FILE \"${muster_said}/completion/_muster\" COMMAND_ERROR_IS_FATAL ANY)
")
install(DIRECTORY ${muster_said}/man1 ${muster_said}/man8 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(FILES ${muster_said}/completion/muster DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${muster_said}/completion/_muster DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES LICENSE NOTICE README.md CHANGELOG.md deploy/musterd.properties DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The unit names the programs where they are put.
install(CODE "
    file(READ \"${PROJECT_SOURCE_DIR}/deploy/musterd.service\" unit)
    string(REPLACE \"/usr/bin/\" \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/\" unit \"\${unit}\")
    string(REPLACE \"/usr/share/doc/\" \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/doc/\" unit \"\${unit}\")
    file(WRITE \"${muster_said}/musterd.service\" \"\${unit}\")
")
install(FILES ${muster_said}/musterd.service DESTINATION lib/systemd/system)
