# man: the manual pages, all written by hand; tests/check/ holds them to what the programs say
dist_man_MANS += man/libpathways.3 man/pathways-module.3
dist_man_MANS += man/pathways.1
dist_man_MANS += man/pathways.conf.5 man/pathwaysd.8
EXTRA_DIST += man/README.md cluster/README.md
