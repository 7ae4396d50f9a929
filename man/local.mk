# man: the manual pages, all written by hand; tests/check/ holds them to what the programs say
call_pages = man/pw_connect.3 man/pw_get.3 man/pw_name.3 man/pw_program_new.3 man/pw_put.3 man/pw_ref.3 man/pw_relocate.3 man/pw_run_with.3 \
	man/pw_session_fd.3 man/pw_slice_open.3 man/pw_transfer.3 man/pw_wait.3
dist_man_MANS += man/libpathways.3 man/pathways-module.3 $(call_pages)
dist_man_MANS += man/pathways.1
dist_man_MANS += man/pathways-cluster.7 man/pathways-metadata.7 man/pathways-protocol.7 man/pathways-pw.7 man/pathways.conf.5 man/pathwaysd.8
EXTRA_DIST += man/README.md man/names.sh

# Every call that a page names is found by its own name.
install-data-hook:
	cd $(srcdir) && man/names.sh $(call_pages) | while read -r name page; do \
		ln -sf $$page $(DESTDIR)$(man3dir)/$$name.3 || exit 1; done
uninstall-hook:
	cd $(srcdir) && man/names.sh $(call_pages) | while read -r name page; do \
		rm -f $(DESTDIR)$(man3dir)/$$name.3; done
