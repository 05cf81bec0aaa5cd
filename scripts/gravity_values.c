/* Boards on which stones fall: how many positions can be reached, and who wins. Plain C99.

       cc -O2 -o gravity_values gravity_values.c
       ./gravity_values count WIDTH HEIGHT DEPTH K MISERE BITS
       ./gravity_values value WIDTH HEIGHT DEPTH K MISERE BITS

   WIDTH x DEPTH pegs hold HEIGHT stones each; depth 1 is the board of Connect Four. A player who first has K in
   a row, in any direction, wins; with MISERE 1 loses. `count` visits every position and prints how many there
   are, finished ones too, and the value for the first player: 1, 0 or -1. `value` prints the positions that it
   searched and the value, and stops at the first move that is good enough. Both keep the positions in a table of
   2^BITS entries of 16 bytes.

   It is here to be compared with the package, and shares nothing with it. */

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CELLS = 63, MOST_SETS = 13 * MOST_CELLS };

typedef uint64_t Stones; /* the stone on height y of peg p is bit p * height + y */

typedef struct {
    Stones mine, theirs; /* of the player to move, and of the other; what is known is in their top bits */
} Entry;

static int width, height, depth, k, pegs;
static bool misere;
static int stones_on[MOST_CELLS];                               /* each peg */
static Stones sets_through[MOST_CELLS][MOST_SETS + 1];          /* each cell; ends with 0 */
static Entry *table;
static uint64_t n_slots, n_entries;

static void fail(const char *message) {
    fprintf(stderr, "gravity_values: %s\n", message);
    exit(1);
}

/* Adds the k cells from (x, y, z) in a direction to the sets of each of them, if they are on the board. */
static void add_set(int x, int y, int z, int dx, int dy, int dz) {
    int last_x = x + (k - 1) * dx, last_y = y + (k - 1) * dy, last_z = z + (k - 1) * dz;
    if (last_x < 0 || last_x >= width || last_y < 0 || last_y >= height || last_z < 0 || last_z >= depth)
        return;
    Stones set = 0;
    for (int i = 0; i < k; i++)
        set |= (Stones)1 << (((x + i * dx) * depth + z + i * dz) * height + y + i * dy);
    for (int cell = 0; cell < pegs * height; cell++)
        if (set >> cell & 1) {
            Stones *end = sets_through[cell];
            while (*end)
                end++;
            *end = set;
        }
}

static void find_sets(void) {
    for (int x = 0; x < width; x++)
        for (int y = 0; y < height; y++)
            for (int z = 0; z < depth; z++)
                for (int direction = 14; direction < 27; direction++) /* one of each pair of opposite ones */
                    add_set(x, y, z, direction / 9 - 1, direction / 3 % 3 - 1, direction % 3 - 1);
}

/* Whether these stones, of which one is on the cell, have K in a row through it. */
static bool completes(Stones stones, int cell) {
    for (const Stones *set = sets_through[cell]; *set; set++)
        if ((stones & *set) == *set)
            return true;
    return false;
}

/* The entry of a position, or the one where it goes. Something is known of each position that has one. */
static Entry *entry_of(Stones mine, Stones theirs) {
    uint64_t hash = (mine * 0x9E3779B97F4A7C15u ^ theirs) * 0xD6E8FEB86659FD93u;
    for (uint64_t slot = (hash ^ hash >> 32) & (n_slots - 1);; slot = (slot + 1) & (n_slots - 1)) {
        Entry *entry = &table[slot];
        bool is_free = !(entry->mine | entry->theirs);
        if (is_free || ((entry->mine ^ mine) << 1 == 0 && (entry->theirs ^ theirs) << 1 == 0))
            return entry;
    }
}

/* 0: nothing; else 1, 2 or 3. */
static int known(const Entry *entry) { return (int)(entry->mine >> 63 << 1 | entry->theirs >> 63); }

static void keep(Entry *entry, Stones mine, Stones theirs, int what) {
    if (!known(entry) && ++n_entries > n_slots / 8 * 7)
        fail("the table is full: raise BITS");
    entry->mine = mine | (Stones)(what >> 1) << 63;
    entry->theirs = theirs | (Stones)(what & 1) << 63;
}

/* The value for the player to move; the other one has just played on `last`. */
static int value(Stones mine, Stones theirs, int last) {
    Entry *entry = entry_of(mine, theirs);
    if (known(entry))
        return known(entry) - 2;
    keep(entry, mine, theirs, 1); /* so that no other position takes it */
    int best = -2;
    if (last >= 0 && completes(theirs, last))
        best = misere ? 1 : -1;
    else
        for (int peg = 0; peg < pegs; peg++)
            if (stones_on[peg] < height) {
                int cell = peg * height + stones_on[peg]++;
                int after = -value(theirs, mine | (Stones)1 << cell, cell);
                stones_on[peg]--;
                if (after > best)
                    best = after;
            }
    if (best == -2)
        best = 0; /* the board is full */
    keep(entry, mine, theirs, best + 2);
    return best;
}

/* Whether the player to move, in a game that is not over, can have this much: 1 a win, 0 a draw. */
static bool reaches(int due, Stones mine, Stones theirs) {
    int n_free = 0;
    for (int peg = 0; peg < pegs; peg++) {
        int cell = peg * height + stones_on[peg];
        n_free += height - stones_on[peg];
        if (!misere && stones_on[peg] < height && completes(mine | (Stones)1 << cell, cell))
            return true;
    }
    if (!n_free)
        return due == 0;
    Entry *entry = entry_of(mine, theirs);
    if (known(entry))
        return known(entry) == 2;
    keep(entry, mine, theirs, 1);
    bool is_good = false;
    for (int i = 0; i < pegs && !is_good; i++) {
        int peg = (pegs / 2 + (i % 2 ? -(i + 1) / 2 : i / 2) + pegs) % pegs; /* from the middle outwards */
        if (stones_on[peg] == height)
            continue;
        int cell = peg * height + stones_on[peg];
        Stones after = mine | (Stones)1 << cell;
        if (completes(after, cell))
            continue; /* which loses: else it was played above */
        stones_on[peg]++;
        is_good = !reaches(1 - due, theirs, after);
        stones_on[peg]--;
    }
    keep(entry, mine, theirs, 1 + is_good);
    return is_good;
}

int main(int argc, char **argv) {
    if (argc != 8)
        fail("expected count or value, and WIDTH HEIGHT DEPTH K MISERE BITS");
    bool is_count = strcmp(argv[1], "count") == 0;
    width = atoi(argv[2]), height = atoi(argv[3]), depth = atoi(argv[4]), k = atoi(argv[5]);
    misere = atoi(argv[6]), n_slots = (uint64_t)1 << atoi(argv[7]), pegs = width * depth;
    if (width < 1 || height < 1 || depth < 1 || k < 2 || pegs * height > MOST_CELLS)
        fail("a board has at most 63 cells, and k is at least 2");
    if (!(table = calloc(n_slots, sizeof *table)))
        fail("there is no memory for the table: lower BITS");
    find_sets();
    int result;
    if (is_count) {
        result = value(0, 0, -1);
    } else if (reaches(1, 0, 0)) {
        result = 1;
    } else {
        uint64_t searched = n_entries;
        memset(table, 0, n_slots * sizeof *table);
        n_entries = 0;
        result = reaches(0, 0, 0) ? 0 : -1;
        n_entries += searched;
    }
    printf("%" PRIu64 " %d\n", n_entries, result);
    return 0;
}
