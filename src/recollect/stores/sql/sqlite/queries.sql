-- name: owner
-- Number, next slot and change count of an owner path.
SELECT no, next_slot, change FROM owners WHERE path = ?;

-- name: add_owner
-- A new owner; harmless when another process was faster.
INSERT INTO owners (path) VALUES (?) ON CONFLICT DO NOTHING;

-- name: advance_owner
-- Give out slots and count changes.
UPDATE owners SET next_slot = ?, change = ? WHERE no = ?;

-- name: add_record
-- One new record.
INSERT INTO records (key, owner, id, kind, role, agent, project, session, turn, at, recorded_at, valid_from, valid_to,
  superseded_at, superseded_by, quality, confidence, reinforced, length, language, terms, text, speaker, source, tags, views,
  metadata)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: replace_record
-- Every field of a record anew; key, owner and id stay.
UPDATE records SET kind = ?, role = ?, agent = ?, project = ?, session = ?, turn = ?, at = ?, recorded_at = ?, valid_from = ?,
  valid_to = ?, superseded_at = ?, superseded_by = ?, quality = ?, confidence = ?, reinforced = ?, length = ?, language = ?,
  terms = ?, text = ?, speaker = ?, source = ?, tags = ?, views = ?, metadata = ?
WHERE key = ?;

-- name: remove_record
-- The row and with it text, terms, tags, views, metadata.
DELETE FROM records WHERE key = ?;

-- name: put_mentions
-- What a record speaks of, in place of what it spoke of before.
INSERT INTO mentions (key, entities, links, dates) VALUES (?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET entities = excluded.entities, links = excluded.links, dates = excluded.dates;

-- name: web
-- What an owner's records say of named things, for a range of keys.
SELECT key, id, confidence, role, source, entities, links FROM mentions JOIN records USING (key)
WHERE key >= ? AND key < ? AND (entities IS NOT NULL OR links IS NOT NULL) ORDER BY key;

-- name: remove_mentions
-- It speaks of nothing.
DELETE FROM mentions WHERE key = ?;

-- name: dates
-- The dates that a range of keys speaks of.
SELECT key, dates FROM mentions WHERE key >= ? AND key < ? AND dates IS NOT NULL;

-- name: dates_by_keys
-- The dates that some records speak of.
SELECT key, dates FROM mentions WHERE key IN (SELECT value FROM json_each(?)) AND dates IS NOT NULL;

-- name: derived_from
-- What was derived from a source: ids, oldest first.
SELECT id FROM records WHERE owner = ? AND source = ? AND role = 'derived' ORDER BY key;

-- name: facts_from
-- The facts among what was derived from a source: ids, oldest first.
SELECT id FROM records WHERE owner = ? AND source = ? AND role = 'derived' AND kind = 'relationship' ORDER BY key;

-- name: record_by_id
-- A whole record, by its id.
SELECT key, owner, id, text, kind, role, agent, project, session, turn, speaker, at, recorded_at, valid_from, valid_to,
  superseded_by, superseded_at, tags, quality, confidence, reinforced, source, views, metadata, entities, links, dates
FROM records LEFT JOIN mentions USING (key) WHERE owner = ? AND id = ?;

-- name: record_by_key
-- A whole record.
SELECT key, owner, id, text, kind, role, agent, project, session, turn, speaker, at, recorded_at, valid_from, valid_to,
  superseded_by, superseded_at, tags, quality, confidence, reinforced, source, views, metadata, entities, links, dates
FROM records LEFT JOIN mentions USING (key) WHERE key = ?;

-- name: records_by_keys
-- Whole records; the list of keys comes as a JSON array, so one statement serves every length.
SELECT key, owner, id, text, kind, role, agent, project, session, turn, speaker, at, recorded_at, valid_from, valid_to,
  superseded_by, superseded_at, tags, quality, confidence, reinforced, source, views, metadata, entities, links, dates
FROM records LEFT JOIN mentions USING (key) WHERE key IN (SELECT value FROM json_each(?));

-- name: keys_by_ids
-- Keys of ids.
SELECT id, key FROM records WHERE owner = ? AND id IN (SELECT value FROM json_each(?));

-- name: columns
-- What an owner's shelf holds in memory, for a range of keys. What has no value gets the one that acts like none: 2^62 for
-- ageless and never, -2^62 for always. Superseded at no known time counts as always.
SELECT key, id, kind, role, agent, project, session, coalesce(turn, -1), coalesce(at, 4611686018427387904), recorded_at,
  coalesce(valid_from, -4611686018427387904), coalesce(valid_to, 4611686018427387904),
  CASE WHEN superseded_by IS NULL THEN 4611686018427387904 ELSE coalesce(superseded_at, -4611686018427387904) END,
  quality, reinforced, length, language, terms
FROM records WHERE key >= ? AND key < ? ORDER BY key;

-- name: texts
-- The texts of a range of keys, for the routes that read them whole and never see what was derived.
SELECT key, text FROM records WHERE key >= ? AND key < ? AND role <> 'derived' ORDER BY key;

-- name: changes_since
-- What happened to an owner's rows after a change number, oldest first.
SELECT change, what, lane, slots FROM changes WHERE owner = ? AND change > ? ORDER BY change;

-- name: add_change
-- Tell readers.
INSERT INTO changes (owner, change, what, lane, slots) VALUES (?, ?, ?, ?, ?);

-- name: prune_changes
-- Entries so old that a reader had better load anew.
DELETE FROM changes WHERE owner = ? AND change <= ?;

-- name: lanes_of
-- An owner's lanes.
SELECT no, space, view, dimension FROM lanes WHERE owner = ?;

-- name: lane
-- One lane.
SELECT no, dimension FROM lanes WHERE owner = ? AND space = ? AND view = ?;

-- name: add_lane
-- A new lane.
INSERT INTO lanes (owner, space, view, dimension) VALUES (?, ?, ?, ?);

-- name: put_vector
-- A vector, replacing an older one of the same record and view.
INSERT INTO vectors (key, hash, vector) VALUES (?, ?, ?)
ON CONFLICT (key) DO UPDATE SET hash = excluded.hash, vector = excluded.vector;

-- name: remove_vector
-- A vector that no longer belongs to its text.
DELETE FROM vectors WHERE key = ?;

-- name: lane_vectors
-- A lane's block.
SELECT key, vector FROM vectors WHERE key >= ? AND key < ? ORDER BY key;

-- name: vectors_by_keys
-- Some vectors.
SELECT key, vector FROM vectors WHERE key IN (SELECT value FROM json_each(?));

-- name: vector_by_hash
-- Vectors of one text, with their spaces.
SELECT lanes.space, vectors.vector FROM vectors JOIN lanes ON lanes.no = vectors.key >> 32 WHERE vectors.hash = ?;

-- name: count_vectors
-- How many vectors a lane holds.
SELECT count(*) FROM vectors WHERE key >= ? AND key < ?;

-- name: add_job
-- A text waits for its vector. One that was put back starts afresh; one that somebody has on lease (due, without an error) goes on.
INSERT INTO outbox (key, space, view) VALUES (?, ?, ?)
ON CONFLICT (key, space, view) DO UPDATE SET attempts = 0, due = 0, error = NULL WHERE error IS NOT NULL;

-- name: remove_jobs
-- A record's jobs.
DELETE FROM outbox WHERE key = ?;

-- name: due_jobs
-- The oldest due jobs of a space in a range of keys.
SELECT number, key, view, attempts FROM outbox WHERE space = ? AND due <= ? AND key >= ? AND key < ? ORDER BY number LIMIT ?;

-- name: lease_job
-- Nobody else takes it until then.
UPDATE outbox SET due = ?, attempts = attempts + 1, error = NULL WHERE number = ?;

-- name: postpone_job
-- Not before then, and why.
UPDATE outbox SET due = ?, error = ? WHERE number = ?;

-- name: job
-- Is the job still there?
SELECT 1 FROM outbox WHERE number = ?;

-- name: remove_job
-- Done.
DELETE FROM outbox WHERE number = ?;

-- name: count_jobs
-- Jobs that wait, in a range of keys and any space when it is null.
SELECT count(*) FROM outbox WHERE key >= ?1 AND key < ?2 AND (?3 IS NULL OR space = ?3);

-- name: count_jobs_of_view
-- Jobs that wait for one lane.
SELECT count(*) FROM outbox WHERE key >= ? AND key < ? AND space = ? AND view = ?;

-- name: jobs_of
-- A record's jobs.
SELECT number, space, view FROM outbox WHERE key = ?;

-- name: remove_jobs_of_space
-- An owner's jobs in a space that goes.
DELETE FROM outbox WHERE key >= ? AND key < ? AND space = ?;

-- name: jobs_of_keys
-- What some records wait for.
SELECT key, space, view FROM outbox WHERE key IN (SELECT value FROM json_each(?)) ORDER BY key, space, view;

-- name: keys_after
-- The next records of an owner, in the order they were added.
SELECT key FROM records WHERE key > ? AND key < ? ORDER BY key LIMIT ?;

-- name: some_vectors
-- The first vectors of a lane.
SELECT key FROM vectors WHERE key >= ? AND key < ? ORDER BY key LIMIT ?;

-- name: owners
-- Everybody who has a record or a setting.
SELECT path FROM owners WHERE EXISTS (SELECT 1 FROM records WHERE records.owner = owners.no)
  OR EXISTS (SELECT 1 FROM settings WHERE settings.owner = owners.no) ORDER BY path;

-- name: lost_vectors
-- Vectors of no record. There should be none.
SELECT vectors.key FROM vectors LEFT JOIN lanes ON lanes.no = vectors.key >> 32
  WHERE lanes.no IS NULL OR NOT EXISTS (SELECT 1 FROM records WHERE records.key = (lanes.owner << 32 | (vectors.key & 4294967295)));

-- name: lost_jobs
-- Jobs of no record. There should be none.
SELECT number FROM outbox WHERE NOT EXISTS (SELECT 1 FROM records WHERE records.key = outbox.key);

-- name: lost_mentions
-- Mentions by no record. There should be none.
SELECT key FROM mentions WHERE NOT EXISTS (SELECT 1 FROM records WHERE records.key = mentions.key);

-- name: settings
-- An owner's settings.
SELECT name, value FROM settings WHERE owner = ? ORDER BY name;

-- name: put_setting
-- One setting.
INSERT INTO settings (owner, name, value) VALUES (?, ?, ?) ON CONFLICT (owner, name) DO UPDATE SET value = excluded.value;

-- name: remove_setting
-- Back to the default.
DELETE FROM settings WHERE owner = ? AND name = ?;

-- name: count_by_kind
-- For people, who don't ask for parts and logs; what was derived is counted apart.
SELECT kind, count(*) FROM records WHERE key >= ? AND key < ? AND role NOT IN ('derived', 'part', 'thread')
GROUP BY kind ORDER BY kind;

-- name: count_derived
-- What was derived from records.
SELECT count(*) FROM records WHERE key >= ? AND key < ? AND role = 'derived';

-- name: path_of
-- Whose number is it?
SELECT path FROM owners WHERE no = ?;

-- name: dimension_of
-- How long the vectors of a space are, whoever's they are.
SELECT dimension FROM lanes WHERE space = ? LIMIT 1;

-- name: fact
-- A fact about the file.
SELECT value FROM facts WHERE name = ?;

-- name: put_fact
-- Note it.
INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: some_texts
-- Records after a key, to make their terms anew.
SELECT key, owner, id, text, kind, role, agent, project, session, turn, speaker, at, recorded_at, valid_from, valid_to,
  superseded_by, superseded_at, tags, quality, confidence, reinforced, source, views, metadata, entities, links, dates
FROM records LEFT JOIN mentions USING (key) WHERE key > ? ORDER BY key LIMIT 1000;

-- name: put_terms
-- A record's terms, length and language.
UPDATE records SET length = ?, language = ?, terms = ? WHERE key = ?;

-- name: disturb_owners
-- A change without an entry in the log: every reader loads its shelves anew.
UPDATE owners SET change = change + 1;

-- name: note
-- One note, unless its time is over.
SELECT value FROM notes WHERE kind = ?1 AND name = ?2 AND (until IS NULL OR until > ?3);

-- name: notes_of
-- All notes of a kind.
SELECT name, value FROM notes WHERE kind = ?1 AND (until IS NULL OR until > ?2) ORDER BY name;

-- name: add_note
-- A new note; nothing happens if there is one.
INSERT INTO notes (kind, name, value, until) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: put_note
-- A note, new or not.
INSERT INTO notes (kind, name, value, until) VALUES (?, ?, ?, ?)
ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value, until = excluded.until;

-- name: drop_note
-- Gone.
DELETE FROM notes WHERE kind = ? AND name = ?;

-- name: drop_old_notes
-- Those whose time is over.
DELETE FROM notes WHERE until <= ?;

-- name: told
-- The record that was told so, if that may still be repeated.
SELECT key FROM told WHERE owner = ? AND digest = ? AND until > ?;

-- name: put_told
-- What a record says. Nothing is due any more: old rows have gone.
INSERT INTO told (owner, digest, key, until) VALUES (?, ?, ?, ?) ON CONFLICT (owner, digest) DO NOTHING;

-- name: remove_told
-- What a record said may no longer be repeated.
DELETE FROM told WHERE key = ?;

-- name: remove_old_told
-- Its time is over.
DELETE FROM told WHERE until <= ?;
