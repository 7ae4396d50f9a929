/* The audit: it sees what was spoilt on purpose; every byte has a term; who holds memory is named, largest first. */
#include "store/fixture_test.h"

#include "store/parts.h"

struct findings { uint32_t count; char text[400]; };

static void note(void *context, const char *where, const char *problem)
{
        struct findings *findings = context;

        findings->count++;
        snprintf(findings->text, sizeof findings->text, "%s: %s", where, problem);
}

/* The audit finds exactly one thing, which says `expected`. */
static void assert_found(struct fixture *f, const char *expected)
{
        struct findings findings = { 0, "" };

        assert_int_equal(pw_store_check(f->store, note, &findings), 1);
        assert_int_equal(findings.count, 1);
        if (!strstr(findings.text, expected))
                fail_msg("found \"%s\", not \"%s\"", findings.text, expected);
}

static void test_leak_is_seen(void **state)
{
        struct fixture f;
        struct client *ann;
        struct segment *segment;
        struct pw_memory_terms terms;
        uint32_t found;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        fixture_put(ann, fixture_grant(&f, ann, 4096, 8).first_slot);
        segment = pw_segment_find(f.store, ann->segment);
        segment->sums.booked -= 8 * 4096; /* no extent has them any more */
        pw_store_terms(f.store, &terms);
        assert_int_equal(terms.unaccounted, 8 * 4096);
        found = pw_store_check(f.store, NULL, NULL);
        assert_true(found >= 1);
        segment->sums.booked += 8 * 4096;
        fixture_check(&f);
        pw_store_overhead(f.store, 4096); /* booked, and of no record */
        f.store->overhead_bytes -= 4096;
        assert_found(&f, "host memory: 4096 bytes are unaccounted for");
        f.store->overhead_bytes += 4096;
        fixture_close(&f);
}

static void test_waits_are_counted(void **state)
{
        struct fixture f;
        struct client *ann;
        struct pw_name_request wait = { .request = 1, .tenant = "ann", .name = "weights" };

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        wait.session = ann->session;
        assert_int_equal(pw_store_name_wait(f.store, &wait, UINT64_MAX, NULL), PW_OK);
        fixture_check(&f);
        pw_session_find(f.store, ann->session)->tenant->wait_count++;
        assert_found(&f, "tenant ann: 2 lookups that wait are counted, its sessions have 1");
        pw_session_find(f.store, ann->session)->tenant->wait_count--;
        fixture_close(&f);
}

static void test_claims_are_counted(void **state)
{
        struct fixture f;
        struct client *ann, *other;
        struct place place;
        struct pw_object *object;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        other = fixture_client(&f, "ann");
        place = fixture_put(ann, fixture_grant(&f, ann, 4096, 8).first_slot);
        fixture_ref(&f, other, place);
        object = fixture_known(&f, place);
        object->refs++;
        assert_found(&f, "h0.7/a.0.1: 3 references are counted, 2 claims are there");
        object->refs--;
        object->holders->number = 99;
        assert_found(&f, "h0.7/a.0.1: a session that ended still holds it");
        object->holders->number = other->session;
        fixture_drop(&f, other, place);
        object->first_ref = object->refs = 0;
        assert_found(&f, "h0.7/a.0.1: nobody holds it, and it stays");
        object->first_ref = object->refs = 1;
        object->grantee = 0;
        assert_found(&f, "a session that ended still has its first reference");
        object->grantee = ann->session;
        fixture_close(&f);
}

static void test_words_agree(void **state)
{
        struct fixture f;
        struct client *ann;
        struct place place;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        place = fixture_put(ann, fixture_grant(&f, ann, 4096, 8).first_slot);
        fixture_known(&f, place);
        atomic_store(&place.entry->word, pw_word_make(PW_ENTRY_CLOSING, 0, place.generation, PW_OK));
        assert_found(&f, "do not agree whether it is closing");
        atomic_store(&place.entry->word, pw_word_make(PW_ENTRY_READY, 0, place.generation + 1, PW_OK));
        assert_found(&f, "its entry is in state 3 of generation 2");
        atomic_store(&place.entry->word, pw_word_make(PW_ENTRY_READY, 0, place.generation, PW_OK));
        fixture_close(&f);
}

static void test_terms(void **state)
{
        struct pw_store *store = pw_store_new(&(struct pw_store_params){ .capacity_bytes = PW_GIB, .reserved_bytes = PW_MIB });
        struct pw_memory_terms terms;

        (void)state;
        pw_store_overhead(store, 3 * PW_MIB);
        pw_store_overhead(store, -(int64_t)PW_MIB);
        pw_store_terms(store, &terms);
        assert_int_equal(terms.capacity, PW_GIB);
        assert_int_equal(terms.reserved, PW_MIB);
        assert_int_equal(terms.overhead, 2 * PW_MIB);
        assert_int_equal(terms.free, PW_GIB - 3 * PW_MIB);
        assert_int_equal(terms.unaccounted, 0);
        pw_store_free(store);
}

/* What is measured only later may find no more room: that is no leak. */
static void test_overhead_beyond_free(void **state)
{
        struct fixture f;
        struct client *ann;

        (void)state;
        fixture_open(&f, PW_MIB);
        ann = fixture_client(&f, "ann");
        fixture_grant(&f, ann, 960 * PW_KIB, 1);
        pw_store_overhead(f.store, 16 * 4096);
        assert_int_equal(fixture_terms(&f).free, 0);
        fixture_check(&f);
        pw_store_overhead(f.store, -16 * 4096);
        f.store->free_bytes -= 64 * PW_KIB;
        assert_true(pw_store_check(f.store, NULL, NULL) >= 1);
        f.store->free_bytes += 64 * PW_KIB;
        fixture_close(&f);
}

/* Rooms of a session that broke the protocol are quarantined while its process lives. */
static void test_quarantine(void **state)
{
        struct fixture f;
        struct client *ann;
        struct place place;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        place = fixture_put(ann, fixture_grant(&f, ann, 4096, 8).first_slot);
        place.generation += 5;
        assert_int_equal(pw_store_drop(f.store, ann->session, fixture_cell(place), 0), PW_PROTOCOL);
        pw_store_session_end(f.store, ann->session, false, 0);
        fixture_reclaim(&f);
        assert_int_equal(fixture_terms(&f).quarantined, 8 * 4096);
        assert_int_equal(fixture_terms(&f).letting_go, 0);
        pw_store_session_dead(f.store, ann->session, 0);
        assert_int_equal(fixture_terms(&f).quarantined, 0);
        fixture_close(&f);
}

static void test_holders(void **state)
{
        struct fixture f;
        struct client *ann, *bo;
        struct pw_store_grant small;
        struct place places[3];
        char text[300], cut[20];

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        bo = fixture_client(&f, "bo");
        assert_string_equal(pw_store_holders_text(f.store, &(struct pw_holders_of){ .now_us = f.now_us }, text, sizeof text),
                            "nobody holds any");
        small = fixture_grant(&f, bo, PW_MIB, 1);
        for (uint32_t i = 0; i < 3; i++)
                places[i].slot = fixture_grant(&f, ann, 4 * PW_MIB, 1).first_slot;
        fixture_put(bo, small.first_slot);
        assert_string_equal(pw_store_holders_text(f.store, &(struct pw_holders_of){ .now_us = f.now_us + 4000000 }, text,
                                                  sizeof text), "1 MiB held by tenant bo, digits[2], 4 s");
        for (uint32_t i = 0; i < 3; i++)
                places[i] = fixture_put(ann, places[i].slot);
        assert_int_equal(fixture_name(&f, "ann", "weights", fixture_known(&f, places[0]), NULL), PW_OK);
        assert_int_equal(pw_store_hold(f.store, fixture_known(&f, places[1]), (struct pw_owner){ PW_OWNER_RUN, 41 }, NULL), PW_OK);
        pw_store_holders_text(f.store, &(struct pw_holders_of){ .now_us = f.now_us }, text, sizeof text);
        assert_non_null(strstr(text, "12 MiB held by tenant ann, digits[1], 0 us; 1 MiB held by tenant bo, digits[2]"));
        pw_store_holders_text(f.store, &(struct pw_holders_of){ .reader = "bo", .now_us = f.now_us }, text, sizeof text);
        assert_string_equal(text, "12 MiB held by other tenants; 1 MiB held by tenant bo, digits[2], 0 us");
        pw_store_holders_text(f.store, &(struct pw_holders_of){ .tenant = "bo", .reader = "bo", .now_us = f.now_us }, text,
                              sizeof text);
        assert_string_equal(text, "1 MiB held by tenant bo, digits[2], 0 us");
        fixture_drop(&f, ann, places[0]); /* the charge moves to who holds them */
        fixture_drop(&f, ann, places[1]);
        pw_store_holders_text(f.store, &(struct pw_holders_of){ .now_us = f.now_us }, text, sizeof text);
        assert_non_null(strstr(text, "4 MiB held by tenant ann, name weights"));
        assert_non_null(strstr(text, "4 MiB held by tenant ann, run 41"));
        pw_store_holders_text(f.store, &(struct pw_holders_of){ .now_us = f.now_us }, cut, sizeof cut);
        assert_string_equal(cut, "4 MiB held by...");
        fixture_close(&f);
}

/* Beyond the first 8,192 slots it is not looked which of them have values: what was granted counts. */
static void test_holders_of_many(void **state)
{
        const struct pw_holders_of of = { .tenant = "ann", .now_us = 1000000, .slots = true };
        struct fixture f;
        struct client *clients[3];
        struct place places[3];
        char text[300];

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        for (uint32_t i = 0; i < 3; i++) {
                clients[i] = fixture_client(&f, "ann");
                places[i] = fixture_put(clients[i], fixture_grant(&f, clients[i], 0, 4000).first_slot);
        }
        pw_store_holders_text(f.store, &of, text, sizeof text);
        assert_string_equal(text,
                            "4000 objects held by tenant ann, digits[3], 0 us; 1 objects held by tenant ann, digits[1], 0 us; "
                                  "1 objects held by tenant ann, digits[2], 0 us");
        for (uint32_t i = 0; i < 3; i++) {
                assert_int_equal(fixture_name(&f, "ann", i ? i > 1 ? "c" : "b" : "a", fixture_known(&f, places[i]),
                                                    NULL), PW_OK);
                pw_store_session_end(f.store, clients[i]->session, true, f.now_us);
        }
        while (pw_store_reclaims(f.store))
                fixture_reclaim(&f);
        pw_store_holders_text(f.store, &of, text, sizeof text);
        assert_string_equal(text, "1 objects held by tenant ann, name a, 0 us; 1 objects held by tenant ann, name b, 0 us; "
                                  "1 objects held by tenant ann, names, leases and others that `pathways owners` lists");
        fixture_close(&f);
}

/* In parts of any size all is looked at; sums are told of where nothing changed meanwhile. */
static void test_check_in_parts(void **state)
{
        struct fixture f;
        struct client *ann;
        struct place place;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        for (uint32_t i = 0; i < 4; i++)
                place = fixture_put(ann, fixture_grant(&f, ann, 4096, 8).first_slot);
        fixture_known(&f, place)->refs++;
        pw_segment_find(f.store, ann->segment)->known_count++;
        for (uint32_t slots = 1; slots < 40; slots++) {
                struct findings findings = { 0, "" };
                struct pw_store_audit audit = { .found = note, .context = &findings };
                uint32_t parts = 1;

                while (pw_store_check_step(f.store, &audit, slots)) {
                        pw_segment_find(f.store, ann->segment)->changes += slots % 2;
                        parts++;
                }
                assert_int_equal(parts, slots > 24 ? 1 : slots > 16 ? 2 : slots > 8 ? 2 : 4);
                assert_int_equal(findings.count, parts > 1 && slots % 2 ? 1 : 2);
        }
        fixture_known(&f, place)->refs--;
        pw_segment_find(f.store, ann->segment)->known_count--;
        fixture_close(&f);
}

/* Rooms are known to be used since they were counted last; the terms add up all the same, whatever became of them since. */
static void test_terms_as_counted(void **state)
{
        struct fixture f;
        struct client *ann;
        struct pw_store_grant grant;
        struct pw_memory_terms terms;
        struct place places[8];

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        grant = fixture_grant(&f, ann, 1024, 8);
        for (uint32_t i = 0; i < 8; i++)
                places[i] = fixture_put(ann, grant.first_slot + i);
        pw_store_terms(f.store, &terms);
        assert_true(terms.used == 0 && terms.idle == 8192 && !terms.unaccounted);
        assert_int_equal(fixture_terms(&f).used, 8192);
        for (uint32_t i = 0; i < 8; i++)
                fixture_drop(&f, ann, places[i]);
        fixture_reclaim(&f);
        pw_store_lane_end(f.store, ann->session, 0, f.now_us);
        pw_store_terms(f.store, &terms);
        assert_true(terms.used == 0 && terms.idle == 8192 && !terms.unaccounted);
        fixture_close(&f);
}

struct rows { uint32_t count, refs, known; };

static bool add_row(void *context, const struct pw_object_row *row)
{
        struct rows *rows = context;

        rows->count++;
        rows->refs += row->refs;
        rows->known += row->object != NULL;
        assert_string_equal(row->tenant, "ann");
        assert_int_equal(row->charge.kind, PW_OWNER_SESSION);
        assert_int_equal(row->charge.number, 1);
        return rows->count < 3;
}

static void test_listing(void **state)
{
        struct fixture f;
        struct client *ann;
        struct pw_store_grant grant;
        struct rows rows = { 0, 0, 0 };
        struct place place;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        grant = fixture_grant(&f, ann, 4096, 8);
        fixture_grant_futures(&f, ann, 8);
        pw_store_each_object(f.store, add_row, &rows);
        assert_int_equal(rows.count, 0); /* granted, and not used */
        place = fixture_put(ann, grant.first_slot);
        fixture_ref(&f, ann, place);
        fixture_create(ann, grant.first_slot + 1);
        pw_store_each_object(f.store, add_row, &rows);
        assert_int_equal(rows.count, 2);
        assert_int_equal(rows.refs, 3);
        assert_int_equal(rows.known, 1);
        for (uint32_t i = 2; i < 8; i++)
                fixture_put(ann, grant.first_slot + i);
        rows.count = 0;
        pw_store_each_object(f.store, add_row, &rows);
        assert_int_equal(rows.count, 3); /* told to stop */
        fixture_close(&f);
}

static bool sum_slot(void *context, const struct pw_object_row *row)
{
        *(uint64_t *)context += 1 + pw_id_slot(row->id);
        return true;
}

/* In parts of any size each object is seen once; between two of them extents may go. */
static void test_walk(void **state)
{
        struct fixture f;
        struct client *ann;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        for (uint32_t i = 0; i < 5; i++) {
                struct pw_store_grant grant = fixture_grant(&f, ann, 4096, 8);

                for (uint32_t j = 0; j < 7; j++)
                        fixture_put(ann, grant.first_slot + j);
        }
        for (uint32_t slots = 1; slots < 50; slots++) {
                uint64_t sum = 0, all = 0, at = 0;
                const struct pw_walk walk = { .slots = slots, .row = sum_slot, .context = &sum };
                uint32_t parts = 1;

                while (pw_store_walk(f.store, &walk, &at))
                        parts++;
                pw_store_each_object(f.store, sum_slot, &all);
                assert_true(sum == all && all > 0);
                assert_true(parts >= 40 / slots && parts <= 1 + 46 / slots);
        }
        for (uint64_t at = 0, sum = 0,
             last = 0; pw_store_walk(f.store, &(struct pw_walk){ .slots = 3, .row = sum_slot, .context = &sum }, &at); last = at)
                if (!last)
                        pw_store_session_end(f.store, ann->session, true, f.now_us);
        fixture_close(&f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_leak_is_seen),
                cmocka_unit_test(test_claims_are_counted),
                cmocka_unit_test(test_waits_are_counted),
                cmocka_unit_test(test_words_agree),
                cmocka_unit_test(test_terms),
                cmocka_unit_test(test_overhead_beyond_free),
                cmocka_unit_test(test_quarantine),
                cmocka_unit_test(test_holders),
                cmocka_unit_test(test_holders_of_many),
                cmocka_unit_test(test_check_in_parts),
                cmocka_unit_test(test_terms_as_counted),
                cmocka_unit_test(test_listing),
                cmocka_unit_test(test_walk),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
