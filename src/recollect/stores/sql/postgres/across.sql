-- Questions about the whole store. They name no owner, so they ask every partition, and a cluster every node; nothing that
-- remembers or recalls waits for one. They belong to who looks after the store and to the worker that embeds in the background.

-- name: due_jobs
-- The oldest due jobs of a space, whoever's: which owner's queue to claim from.
SELECT owner, number FROM recollect.outbox WHERE space = $1 AND due <= $2 ORDER BY number LIMIT $3;

-- name: count_jobs
-- How many jobs wait, in any space when it is null.
SELECT count(*) FROM recollect.outbox WHERE $1::text IS NULL OR space = $1;

-- name: vectors_by_hash
-- Vectors of some texts in a space, whoever's records they belong to: the same text is never embedded twice.
SELECT DISTINCT ON (v.hash) v.hash, v.vector FROM recollect.vectors AS v JOIN recollect.lanes AS l USING (owner, lane)
WHERE v.hash = ANY ($1::bytea[]) AND l.space = $2 ORDER BY v.hash;

-- name: lost_vectors
-- Owners with vectors of no record, and how many. There should be none.
SELECT owner, count(*) FROM recollect.vectors AS l WHERE NOT EXISTS (
  SELECT 1 FROM recollect.records AS r WHERE r.owner = l.owner AND r.slot = l.slot
) GROUP BY owner;

-- name: lost_jobs
-- Owners with jobs of no record, and how many. There should be none.
SELECT owner, count(*) FROM recollect.outbox AS l WHERE NOT EXISTS (
  SELECT 1 FROM recollect.records AS r WHERE r.owner = l.owner AND r.slot = l.slot
) GROUP BY owner;

-- name: lost_mentions
-- Owners with mentions of no record, and how many. There should be none.
SELECT owner, count(*) FROM recollect.mentions AS l WHERE NOT EXISTS (
  SELECT 1 FROM recollect.records AS r WHERE r.owner = l.owner AND r.slot = l.slot
) GROUP BY owner;

-- name: lost_slots
-- Records beyond what their owner has given out.
SELECT count(*) FROM recollect.records AS r LEFT JOIN recollect.owners AS o USING (owner)
WHERE o.owner IS NULL OR r.slot >= o.next_slot;

-- name: broken_indexes
-- Indexes that were not finished, or were damaged; nobody is making them just now.
SELECT c.relname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'recollect' AND NOT i.indisvalid
  AND NOT EXISTS (SELECT 1 FROM pg_stat_progress_create_index AS p WHERE p.index_relid = c.oid);

-- name: size
-- Bytes on disk.
SELECT pg_database_size(current_database());
