#!/bin/sh
# names.sh PAGE...: for each call that a page names besides the one it is called after, a line: the call, and the page's file.
for page; do
        file=${page##*/}
        awk '/^\.Sh / { name = $2 == "NAME" } name && /^\.Nm / { print $2 }' "$page" | grep -vx "${file%.3}" | sed "s/\$/ $file/"
done
