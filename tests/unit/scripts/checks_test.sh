#!/usr/bin/env bash
# The checks of scripts/check on a small tree: each passes on good files and finds what is planted for it.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

TREE=$TEMP/tree

# A tree in which everything is right.
fresh_tree() {
    rm -rf "$TREE"
    mkdir -p "$TREE/src/group" "$TREE/include/muster"
    cp -r "$REPO/scripts" "$REPO/.clang-format" "$REPO/.shellcheckrc" "$TREE/"
    printf 'int group_answer(void);\n' >"$TREE/include/muster/group.h"
    printf '#include <muster/group.h>\n\nint group_answer(void)\n{\n    return 42;\n}\n' >"$TREE/src/group/answer.c"
}

# finds CHECK WORDS: the check fails on the tree as it is now and says these words.
finds() {
    expect_refusal "$1" "$2" "$TREE/scripts/check-$1"
}

plant() {
    fresh_tree
    printf '%s\n' "$2" >"$TREE/$1"
}

fresh_tree
for check in format layers banned sizes text spelling shell; do
    expect "$check fails on a good tree" "$TREE/scripts/check-$check"
done

plant src/group/clock.c '#include <time.h>'
finds layers 'src/group/clock.c:1: time.h: this layer may not use that system header'
plant src/group/loop.c '#include <uv.h>'
finds layers 'src/group/loop.c:1: uv.h: this layer may not use that library'
plant src/group/store.c '#include <muster/store.h>'
finds layers 'src/group/store.c:1: muster/store.h: this layer may not know that header'
plant src/group/peek.c '#include "../coord/internal.h"'
finds layers 'a header in quotes must lie in the same library folder'
mkdir -p "$TREE/src/unheard"
plant src/group/where.c 'int a;'
mkdir "$TREE/src/unheard" && mv "$TREE/src/group/where.c" "$TREE/src/unheard/"
finds layers 'no row of scripts/layers.txt'

plant src/group/copy.c 'void f(char *a) { strcpy(a, "b"); }'
finds banned 'src/group/copy.c:1: strcpy'
plant src/group/number.c 'int f(void) { double d = 1; return (int)d; }'
finds banned 'floating point'
plant src/group/later.c "/* TO""DO: later */"
finds banned 'a word of unfinished work'
plant src/group/comment.c '/* strcpy( is spoken of, not called */ const char *a = "strcpy(";'
expect 'banned: finds what is in a comment or a text' "$TREE/scripts/check-banned"

plant src/group/long.c "$(printf 'int f(void)\n{\n' && printf '    ;\n%.0s' {1..70} && printf '}\n')"
finds sizes 'src/group/long.c:1 f: 73 lines'
plant src/group/huge.c "$(printf 'int a;\n%.0s' {1..900})"
finds sizes 'src/group/huge.c: 900 lines'

plant src/group/path.c "const char *a = \"/""root/a\";"
finds text 'a path of one machine'
plant notes.md "htt""ps://registry.npmjs.org/x"
finds text 'the address of a package registry'
plant notes.md 't''eh word'
finds spelling 'notes.md:1'
plant run.sh $'#!/bin/bash\nrm $x'
finds shell 'run.sh line 2'
if clang-format --version | grep -q ' 14\.'; then
    plant src/group/layout.c 'int f(void) {return 1;}'
    finds format 'src/group/layout.c'
    "$TREE/scripts/check-format" --fix
    expect 'format: --fix does not put it right' "$TREE/scripts/check-format"
fi

# Symbols: an archive that calls the clock.
fresh_tree
mkdir -p "$TREE/build/dev/lib"
for name in base wire group coord; do
    echo 'extern long time(long *); long group_now(void); long group_now(void) { return time(0); }' >"$TREE/$name.c"
    [ "$name" = group ] || echo "int ${name}_nothing;" >"$TREE/$name.c"
    cc -c "$TREE/$name.c" -o "$TREE/$name.o"
    ar rc "$TREE/build/dev/lib/libmuster_$name.a" "$TREE/$name.o"
done
finds symbols 'libmuster_group.a: calls time'

finish
