-- Where some rows of many are asked for, each is looked up by its key (LATERAL, OFFSET 0): of owners with few records on the average
-- a planner thinks that all rows of one are soon read, and is wrong about the one who has a hundred thousand.

-- name: pulse
-- All that a reader must know before it answers from what it holds: is there anything new, and does anything wait?
SELECT no, next_slot, change, settings, EXISTS (SELECT 1 FROM recollect.outbox WHERE owner = $1)
FROM recollect.owners WHERE owner = $1;

-- name: owner_for_write
-- An owner's row; whoever holds it writes alone.
SELECT no, next_slot, change FROM recollect.owners WHERE owner = $1 FOR UPDATE;

-- name: number_owner
-- A number for a new owner; harmless when another process was faster.
INSERT INTO recollect.numbers (owner) VALUES ($1) ON CONFLICT (owner) DO UPDATE SET owner = excluded.owner RETURNING no;

-- name: add_owner
-- A new owner; harmless when another process was faster.
INSERT INTO recollect.owners (owner, no) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: advance_owner
-- Give out slots and count changes.
UPDATE recollect.owners SET next_slot = $2, change = $3 WHERE owner = $1;

-- name: put_settings
-- An owner's settings, all of them.
UPDATE recollect.owners SET settings = $2 WHERE owner = $1;

-- name: settings_for_write
-- An owner's settings, to be changed.
SELECT settings FROM recollect.owners WHERE owner = $1 FOR UPDATE;

-- name: path_of
-- Whose number is it?
SELECT owner FROM recollect.numbers WHERE no = $1;

-- name: add_record
-- One new record.
INSERT INTO recollect.records (owner, slot, id, kind, role, agent, project, session, turn, at, recorded_at, valid_from, valid_to,
  superseded_at, superseded_by, quality, confidence, reinforced, length, language, terms, text, speaker, source, tags, views,
  metadata, lexemes)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26,
  $27, $28);

-- name: replace_record
-- Every field of a record anew; owner, slot and id stay.
UPDATE recollect.records SET kind = $3, role = $4, agent = $5, project = $6, session = $7, turn = $8, at = $9, recorded_at = $10,
  valid_from = $11, valid_to = $12, superseded_at = $13, superseded_by = $14, quality = $15, confidence = $16, reinforced = $17,
  length = $18, language = $19, terms = $20, text = $21, speaker = $22, source = $23, tags = $24, views = $25, metadata = $26,
  lexemes = $27
WHERE owner = $1 AND slot = $2;

-- name: remove_record
-- The row and with it text, terms, tags, views, metadata.
DELETE FROM recollect.records WHERE owner = $1 AND slot = $2;

-- name: put_mentions
-- What a record speaks of, in place of what it spoke of before.
INSERT INTO recollect.mentions (owner, slot, entities, links, dates) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (owner, slot) DO UPDATE SET entities = excluded.entities, links = excluded.links, dates = excluded.dates;

-- name: remove_mentions
-- It speaks of nothing.
DELETE FROM recollect.mentions WHERE owner = $1 AND slot = $2;

-- name: web
-- What an owner's records say of named things, for a range of slots.
SELECT slot, id, confidence, role, source, entities, links
FROM recollect.mentions AS m JOIN recollect.records AS r USING (owner, slot)
WHERE m.owner = $1 AND m.slot >= $2 AND m.slot < $3 AND (entities IS NOT NULL OR links IS NOT NULL) ORDER BY slot;

-- name: dates
-- The dates that a range of slots speaks of, and some slots besides.
SELECT slot, dates FROM recollect.mentions
WHERE owner = $1 AND (slot >= $2 AND slot < $3 OR slot = ANY ($4::integer[])) AND dates IS NOT NULL;

-- name: derived_from
-- What was derived from a source: ids, oldest first; only facts, if so asked.
SELECT id FROM recollect.records
WHERE owner = $1 AND source = $2 AND role = 'derived' AND (NOT $3 OR kind = 'relationship') ORDER BY slot;

-- name: ids_there
-- Which of these ids are taken?
SELECT 1 FROM unnest($2::text[]) AS these (id)
CROSS JOIN LATERAL (SELECT 1 FROM recollect.records AS r WHERE r.owner = $1 AND r.id = these.id OFFSET 0) AS found LIMIT 1;

-- name: record_by_id
-- A whole record, by its id.
SELECT r.slot, r.owner, id, text, kind, role, agent, project, session, turn, speaker, at, recorded_at, valid_from, valid_to,
  superseded_by, superseded_at, tags, quality, confidence, reinforced, source, views, metadata, entities, links, dates
FROM recollect.records AS r
LEFT JOIN LATERAL (SELECT * FROM recollect.mentions AS m WHERE m.owner = $1 AND m.slot = r.slot OFFSET 0) AS spoken_of ON true
WHERE r.owner = $1 AND r.id = $2;

-- name: records_by_slots
-- Whole records.
SELECT r.slot, r.owner, id, text, kind, role, agent, project, session, turn, speaker, at, recorded_at, valid_from, valid_to,
  superseded_by, superseded_at, tags, quality, confidence, reinforced, source, views, metadata, entities, links, dates
FROM unnest($2::integer[]) AS these (slot)
CROSS JOIN LATERAL (SELECT * FROM recollect.records AS r WHERE r.owner = $1 AND r.slot = these.slot OFFSET 0) AS r
LEFT JOIN LATERAL (SELECT * FROM recollect.mentions AS m WHERE m.owner = $1 AND m.slot = these.slot OFFSET 0) AS m ON true;

-- name: slots_by_ids
-- Slots of ids.
SELECT id, found.slot FROM unnest($2::text[]) AS these (id)
CROSS JOIN LATERAL (SELECT slot FROM recollect.records AS r WHERE r.owner = $1 AND r.id = these.id OFFSET 0) AS found;

-- name: columns
-- What an owner's shelf holds in memory, for a range of slots. What has no value gets the one that acts like none: 2^62 for
-- ageless and never, -2^62 for always. Superseded at no known time counts as always.
SELECT ($2::bigint << 32) + slot, id, kind, role, agent, project, session, coalesce(turn, -1), coalesce(at, 4611686018427387904),
  recorded_at, coalesce(valid_from, -4611686018427387904), coalesce(valid_to, 4611686018427387904),
  CASE WHEN superseded_by IS NULL THEN 4611686018427387904 ELSE coalesce(superseded_at, -4611686018427387904) END,
  quality, reinforced, length, language, terms
FROM recollect.records WHERE owner = $1 AND slot >= $3 AND slot < $4 ORDER BY slot;

-- name: some_columns
-- The same of single slots.
SELECT ($2::bigint << 32) + r.slot, id, kind, role, agent, project, session, coalesce(turn, -1), coalesce(at, 4611686018427387904),
  recorded_at, coalesce(valid_from, -4611686018427387904), coalesce(valid_to, 4611686018427387904),
  CASE WHEN superseded_by IS NULL THEN 4611686018427387904 ELSE coalesce(superseded_at, -4611686018427387904) END,
  quality, reinforced, length, language, terms
FROM unnest($3::integer[]) AS these (slot)
CROSS JOIN LATERAL (SELECT * FROM recollect.records AS r WHERE r.owner = $1 AND r.slot = these.slot OFFSET 0) AS r ORDER BY r.slot;

-- name: texts
-- The texts of a range of slots, for the routes that read them whole and never see what was derived.
SELECT slot, text FROM recollect.records WHERE owner = $1 AND slot >= $2 AND slot < $3 AND role <> 'derived' ORDER BY slot;

-- name: rank_words
-- The server's own full text ranking, cover density, of what matches: the best so many, and all that tie with the last of them.
SELECT slot, rank FROM (
  SELECT slot, ts_rank_cd(words, $2::tsquery) AS rank, rank() OVER (ORDER BY ts_rank_cd(words, $2::tsquery) DESC) AS place
  FROM recollect.records WHERE owner = $1 AND words @@ $2::tsquery AND role <> 'derived'
) AS ranked WHERE place <= $3;

-- name: changes_since
-- What happened to an owner's rows after a change number, oldest first.
SELECT change, what, lane, slots FROM recollect.changes WHERE owner = $1 AND change > $2 ORDER BY change;

-- name: add_change
-- Tell readers.
INSERT INTO recollect.changes (owner, change, what, lane, slots) VALUES ($1, $2, $3, $4, $5);

-- name: prune_changes
-- Entries so old that a reader had better load anew.
DELETE FROM recollect.changes WHERE owner = $1 AND change <= $2;

-- name: lanes_of
-- An owner's lanes.
SELECT lane, space, view, dimension FROM recollect.lanes WHERE owner = $1 ORDER BY lane;

-- name: lane
-- One lane.
SELECT lane, dimension FROM recollect.lanes WHERE owner = $1 AND space = $2 AND view = $3;

-- name: add_space
-- How long its vectors are, said once for all.
INSERT INTO recollect.spaces (space, dimension) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: dimension_of
-- How long the vectors of a space are.
SELECT dimension FROM recollect.spaces WHERE space = $1;

-- name: add_lane
-- A new lane.
INSERT INTO recollect.lanes (owner, lane, space, view, dimension)
SELECT $1, coalesce(max(lane), 0) + 1, $2, $3, $4 FROM recollect.lanes WHERE owner = $1 RETURNING lane;

-- name: put_vector
-- A vector, replacing an older one of the same record and view.
INSERT INTO recollect.vectors (owner, lane, slot, hash, vector) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (owner, lane, slot) DO UPDATE SET hash = excluded.hash, vector = excluded.vector;

-- name: remove_vector
-- A vector that no longer belongs to its text.
DELETE FROM recollect.vectors WHERE owner = $1 AND lane = $2 AND slot = $3;

-- name: remove_vectors
-- Vectors that are about to be put anew.
DELETE FROM recollect.vectors WHERE owner = $1 AND lane = $2 AND slot = ANY ($3::integer[]);

-- name: lane_vectors
-- A part of a lane's block, in one piece: slots, and vectors one after the other, in the same order.
SELECT string_agg(int4send(slot), NULL), string_agg(vector_send(vector), NULL) FROM (
  SELECT slot, vector FROM recollect.vectors WHERE owner = $1 AND lane = $2 AND slot >= $3 AND slot < $4 ORDER BY slot LIMIT $5
) AS part;

-- name: vectors_by_slots
-- Some vectors.
SELECT slot, vector FROM recollect.vectors WHERE owner = $1 AND lane = $2 AND slot = ANY ($3::integer[]);

-- name: vectors_of_slots
-- Some records' vectors, in every lane.
SELECT slot, lane, vector FROM recollect.vectors
WHERE owner = $1 AND lane = ANY ($2::integer[]) AND slot = ANY ($3::integer[]);

-- name: some_vectors
-- The first vectors of a lane.
SELECT slot FROM recollect.vectors WHERE owner = $1 AND lane = $2 ORDER BY slot LIMIT $3;

-- name: count_vectors
-- How many vectors a lane holds.
SELECT count(*) FROM recollect.vectors WHERE owner = $1 AND lane = $2;

-- name: add_job
-- A text waits for its vector. One that was put back starts afresh; one that somebody has on lease (due, without an error) goes on.
INSERT INTO recollect.outbox AS o (owner, slot, space, view) VALUES ($1, $2, $3, $4)
ON CONFLICT (owner, slot, space, view) DO UPDATE SET attempts = 0, due = 0, error = NULL WHERE o.error IS NOT NULL;

-- name: remove_jobs
-- A record's jobs.
DELETE FROM recollect.outbox WHERE owner = $1 AND slot = $2;

-- name: claim_jobs
-- Lease the oldest due jobs of a space; what another process is claiming is passed over.
WITH due AS (
  SELECT number FROM recollect.outbox WHERE owner = $1 AND space = $2 AND due <= $3 ORDER BY number LIMIT $4
  FOR UPDATE SKIP LOCKED
)
UPDATE recollect.outbox AS o SET due = $5, attempts = attempts + 1, error = NULL FROM due
WHERE o.owner = $1 AND o.number = due.number RETURNING o.number, o.slot, o.view, o.attempts;

-- name: claim_these
-- Lease these jobs, as far as they are still due and nobody else is claiming them.
WITH due AS (
  SELECT number FROM recollect.outbox WHERE owner = $1 AND number = ANY ($2::bigint[]) AND due <= $3 FOR UPDATE SKIP LOCKED
)
UPDATE recollect.outbox AS o SET due = $4, attempts = attempts + 1, error = NULL FROM due
WHERE o.owner = $1 AND o.number = due.number RETURNING o.number, o.slot, o.view, o.attempts;

-- name: postpone_jobs
-- Not before then, and why.
UPDATE recollect.outbox SET due = $3, error = $4 WHERE owner = $1 AND number = ANY ($2::bigint[]);

-- name: jobs_there
-- Which jobs are still there?
SELECT number FROM recollect.outbox WHERE owner = $1 AND number = ANY ($2::bigint[]);

-- name: remove_job
-- Done.
DELETE FROM recollect.outbox WHERE owner = $1 AND number = $2;

-- name: remove_these_jobs
-- Done, several.
DELETE FROM recollect.outbox WHERE owner = $1 AND number = ANY ($2::bigint[]);

-- name: count_jobs
-- An owner's jobs, in any space when it is null.
SELECT count(*) FROM recollect.outbox WHERE owner = $1 AND ($2::text IS NULL OR space = $2);

-- name: count_jobs_of_view
-- Jobs that wait for one lane.
SELECT count(*) FROM recollect.outbox WHERE owner = $1 AND space = $2 AND view = $3;

-- name: jobs_of
-- A record's jobs.
SELECT number, space, view FROM recollect.outbox WHERE owner = $1 AND slot = $2;

-- name: jobs_of_slots
-- What some records wait for.
SELECT slot, space, view FROM recollect.outbox WHERE owner = $1 AND slot = ANY ($2::integer[]) ORDER BY slot, space, view;

-- name: remove_jobs_of_space
-- An owner's jobs in a space that goes.
DELETE FROM recollect.outbox WHERE owner = $1 AND space = $2;

-- name: slots_after
-- The next records of an owner, in the order they were added.
SELECT slot FROM recollect.records WHERE owner = $1 AND slot > $2 ORDER BY slot LIMIT $3;

-- name: count_by_kind
-- For people, who don't ask for parts and logs; what was derived is counted apart.
SELECT kind, count(*) FROM recollect.records WHERE owner = $1 AND role NOT IN ('derived', 'part', 'thread')
GROUP BY kind ORDER BY kind;

-- name: count_derived
-- What was derived from records.
SELECT count(*) FROM recollect.records WHERE owner = $1 AND role = 'derived';

-- name: remove_lost_vectors
-- Vectors of no record.
DELETE FROM recollect.vectors AS l WHERE owner = $1 AND NOT EXISTS (
  SELECT 1 FROM recollect.records AS r WHERE r.owner = $1 AND r.slot = l.slot
);

-- name: remove_lost_jobs
-- Jobs of no record.
DELETE FROM recollect.outbox AS l WHERE owner = $1 AND NOT EXISTS (
  SELECT 1 FROM recollect.records AS r WHERE r.owner = $1 AND r.slot = l.slot
);

-- name: remove_lost_mentions
-- Mentions of no record.
DELETE FROM recollect.mentions AS l WHERE owner = $1 AND NOT EXISTS (
  SELECT 1 FROM recollect.records AS r WHERE r.owner = $1 AND r.slot = l.slot
);

-- name: holds_anything
-- Has an owner a record or a setting?
SELECT EXISTS (SELECT 1 FROM recollect.records WHERE owner = $1)
  OR EXISTS (SELECT 1 FROM recollect.owners WHERE owner = $1 AND settings IS NOT NULL AND settings <> '{}');

-- name: some_texts
-- Records after a slot, to make their terms anew.
SELECT slot, owner, id, text, kind, role, agent, project, session, turn, speaker, at, recorded_at, valid_from, valid_to,
  superseded_by, superseded_at, tags, quality, confidence, reinforced, source, views, metadata, NULL, NULL, NULL
FROM recollect.records WHERE owner = $1 AND slot > $2 ORDER BY slot LIMIT 1000;

-- name: put_terms
-- A record's terms, length, language and lexemes.
UPDATE recollect.records SET length = $3, language = $4, terms = $5, lexemes = $6 WHERE owner = $1 AND slot = $2;

-- name: disturb_owner
-- A change without an entry in the log: every reader loads the shelf anew.
UPDATE recollect.owners SET change = change + 1 WHERE owner = $1;

-- name: every_owner
-- Everybody who ever wrote, in order. A small table, the same on every node.
SELECT owner FROM recollect.numbers ORDER BY owner;

-- name: fact
-- A fact about the memory.
SELECT value FROM recollect.facts WHERE name = $1;

-- name: add_fact
-- Note it, if nobody has.
INSERT INTO recollect.facts (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: put_fact
-- Note it.
INSERT INTO recollect.facts (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: note
-- One note, unless its time is over.
SELECT value FROM recollect.notes WHERE kind = $1 AND name = $2 AND (until IS NULL OR until > $3);

-- name: notes_of
-- All notes of a kind.
SELECT name, value FROM recollect.notes WHERE kind = $1 AND (until IS NULL OR until > $2) ORDER BY name;

-- name: add_note
-- A new note; nothing happens if there is one.
INSERT INTO recollect.notes (kind, name, value, until) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING;

-- name: put_note
-- A note, new or not.
INSERT INTO recollect.notes (kind, name, value, until) VALUES ($1, $2, $3, $4)
ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value, until = excluded.until;

-- name: drop_note
-- Gone.
DELETE FROM recollect.notes WHERE kind = $1 AND name = $2;

-- name: drop_old_notes
-- Those whose time is over.
DELETE FROM recollect.notes WHERE until <= $1;

-- name: told
-- The records that were told so, if that may still be repeated.
SELECT digest, (SELECT no FROM recollect.owners WHERE owner = $1) << 32 | found.slot FROM unnest($2::bytea[]) AS these (digest)
CROSS JOIN LATERAL (
  SELECT slot FROM recollect.told AS t WHERE t.owner = $1 AND t.digest = these.digest AND until > $3 OFFSET 0
) AS found;

-- name: put_told
-- What records say. Nothing is due any more: old rows have gone.
INSERT INTO recollect.told (owner, digest, slot, until)
SELECT $1, digest, slot, until FROM unnest($2::bytea[], $3::integer[], $4::bigint[]) AS said (digest, slot, until)
ON CONFLICT (owner, digest) DO NOTHING;

-- name: remove_told
-- What a record said may no longer be repeated.
DELETE FROM recollect.told WHERE owner = $1 AND slot = $2;

-- name: remove_old_told
-- Its time is over.
DELETE FROM recollect.told WHERE owner = $1 AND until <= $2;
