/* out.h: tables for people, JSON for programs. */
#ifndef MUSTER_CLI_OUT_H
#define MUSTER_CLI_OUT_H

#include <muster/base.h>

#include <jansson.h>
#include <stdio.h>

/* Text that is safe on a terminal: control characters and bytes that are not UTF-8 become \xNN, null becomes "-", no text becomes '""'.
 * In the arena. */
struct str out_text(struct str text, struct arena *arena);
/* The same in single quotes, for messages; no text is ''. */
struct str out_quoted(struct str text, struct arena *arena);
/* What a file that takes the name would take the place of: 0 nothing, 1 a file, MUSTER_E_NO_FILE what is none. Links are not followed. */
int out_place(const char *path);
/* Whether what is written there is for eyes. */
bool out_is_terminal(FILE *file);
int out_terminal_width(FILE *file); /* 0: it is none */
/* Columns a text of out_text takes: its code points. */
int out_width(struct str text);
/* 2026-11-29T20:01:02.345Z */
struct str out_time(int64_t wall_ms, struct arena *arena);

/* "1 segment", "2 segments" */
struct str out_count(uint64_t count, const char *one, const char *many, struct arena *arena);
/* This machine's clock. */
int64_t out_now_ms(void);
/* Within so many columns, with a '…' for what is left out: in the middle of what is one word (ends of ids say more than their beginnings), else at the end. */
struct str out_cut(struct str text, int width, struct arena *arena);

/* Rows are filled cell by cell, left to right. Everything lies in the arena. A header "LONG|SHORT" is the short one where the table is too wide for the terminal;
 * "LONG|" leaves the column out where that is not enough. */
struct table {
    struct arena *arena;
    const char *const *headers;
    int columns;
    struct str *cells;
    int cell_count, cell_cap;
    uint64_t kept; /* a bit for each column whose texts are not cut */
};
void table_init(struct table *t, struct arena *arena, const char *const *headers, int columns);
void table_text(struct table *t, struct str text); /* any text: made safe here */
void table_number(struct table *t, int64_t number);
void table_number_or_dash(struct table *t, int64_t number); /* negative: "-" */
void table_keep(struct table *t, int column);               /* its texts go on in the next line rather than being cut */
/* The header line and the rows; columns as wide as needed, two blanks between, numbers to the right. */
void table_print(const struct table *t, FILE *to);
/* The same within so many columns: where that is too little, columns go that are "-" in all rows, times lose the day that all share (the header has it), names get
 * short, then the widest texts are cut. 0: as wide as it is, which is what table_print does but on a terminal. */
void table_print_within(const struct table *t, int width, FILE *to);

/* JSON: jansson values of ours, never NULL. */
json_t *out_json_text(struct str text); /* null: null; bytes that are not UTF-8 as wire_dump_str writes them */
json_t *out_json_base64(struct bytes bytes);
void out_json_set(json_t *object, const char *key, json_t *value); /* takes value */
void out_json_add(json_t *array, json_t *value);                   /* takes value */
/* One document, indented, newline; takes it. */
void out_json_print(json_t *document, FILE *to);

#endif
