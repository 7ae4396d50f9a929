# man
dist_man_MANS += man/libpathways.3 man/pathways-module.3
dist_man_MANS += man/pathways.1
