-- A write that only adds, as one statement: the owner's row, if it is as we left it, and in further parts what goes beside it.
-- `{}` are the values of a part, in the order of its columns. Nothing is written unless the row is free for it.

-- name: whole
-- The parts together; the count says whether anything was written.
WITH free AS (
{free}
), {parts}
SELECT count(*) FROM free;

-- name: free
-- The owner's row as it will be, if nobody wrote since and no id is taken; waits so long for who has it.
UPDATE recollect.owners SET next_slot = $5, change = $6
WHERE owner = $1 AND no = $2 AND next_slot = $3 AND change = $4 AND set_config('lock_timeout', $7, true) <> ''
{unless}
RETURNING 1;

-- name: taken
-- Another has this id.
  AND NOT EXISTS (SELECT 1 FROM recollect.records WHERE owner = $1 AND id = {id});

-- name: repeated
-- Somebody told the same, and that may still be repeated.
  AND NOT EXISTS (SELECT 1 FROM recollect.told WHERE owner = $1 AND digest = {digest} AND until > $8);

-- name: record
-- A new record.
INSERT INTO recollect.records (owner, slot, id, kind, role, agent, project, session, turn, at, recorded_at, valid_from, valid_to,
  superseded_at, superseded_by, quality, confidence, reinforced, length, language, terms, text, speaker, source, tags, views,
  metadata, lexemes)
SELECT $1, {} FROM free;

-- name: mentions
-- What it speaks of.
INSERT INTO recollect.mentions (owner, slot, entities, links, dates) SELECT $1, {} FROM free;

-- name: vector
-- A vector of it.
INSERT INTO recollect.vectors (owner, lane, slot, hash, vector) SELECT $1, {} FROM free;

-- name: job
-- A text of it that waits.
INSERT INTO recollect.outbox (owner, slot, space, view) SELECT $1, {} FROM free;

-- name: told
-- What it says, in place of the same whose time is over.
INSERT INTO recollect.told (owner, digest, slot, until) SELECT $1, {} FROM free
ON CONFLICT (owner, digest) DO UPDATE SET slot = excluded.slot, until = excluded.until;

-- name: change
-- An entry for readers.
INSERT INTO recollect.changes (owner, change, what, lane, slots) SELECT $1, {} FROM free;
