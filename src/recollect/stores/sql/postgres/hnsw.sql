-- Search on the server, for lanes too large to be held by everybody who asks. {n} is a lane's dimension, {ef} how many candidates
-- an index keeps: numbers of ours. Each index is of one owner's one lane, so no filter can make it miss anything of him.

-- name: index_is_made
-- Is there an index of this name, and finished?
SELECT i.indisvalid FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'recollect' AND c.relname = $1;

-- name: indexes_of
-- An owner's indexes: the name, whether it is finished, and whether somebody is making it just now.
SELECT c.relname::text, i.indisvalid, EXISTS (SELECT 1 FROM pg_stat_progress_create_index AS p WHERE p.index_relid = c.oid)
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'recollect' AND c.relname ~ ('^hnsw_' || $1::text || '_[0-9]+$') ORDER BY 1;

-- name: extension
-- The version of pgvector in this database.
SELECT extversion FROM pg_extension WHERE extname = 'vector';

-- name: crowded
-- How many of a lane's vectors are of texts that more than ten records share.
SELECT coalesce(sum(alike), 0)::bigint FROM (
  SELECT count(*) AS alike FROM recollect.vectors WHERE owner = $1 AND lane = $2 GROUP BY hash HAVING count(*) > 10
) AS crowds;

-- name: statement_to_make
-- What makes a lane's index, on the one partition where the lane is. The server itself quotes the names in it.
SELECT format(
  'CREATE INDEX CONCURRENTLY IF NOT EXISTS %I ON %s USING hnsw ((vector::halfvec(%s)) halfvec_ip_ops) '
  'WITH (m = 16, ef_construction = 128) WHERE owner = %L AND lane = %s', $3::text, tableoid::regclass, $4::integer, owner, lane)
FROM recollect.vectors WHERE owner = $1 AND lane = $2 LIMIT 1;

-- name: statement_to_drop
-- What drops an index.
SELECT format('DROP INDEX CONCURRENTLY IF EXISTS recollect.%I', $1::text);

-- name: lane_slots
-- Which of the first so many records have a vector in a lane.
SELECT string_agg(int4send(slot), NULL) FROM recollect.vectors WHERE owner = $1 AND lane = $2 AND slot < $3;

-- name: settings
-- An index of one lane can only be used by a plan that knows which lane is asked, and is to be used wherever it can be.
BEGIN READ ONLY; SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL enable_sort = off;
SET LOCAL hnsw.iterative_scan = relaxed_order; SET LOCAL hnsw.ef_search = {ef}

-- name: near
-- The vectors next to a question by the lane's index, compared in half precision.
SELECT slot, -(vector::halfvec({n}) <#> $3::vector::halfvec({n})) FROM recollect.vectors
WHERE owner = $1 AND lane = $2 ORDER BY vector::halfvec({n}) <#> $3::vector::halfvec({n}) LIMIT $4;

-- name: best_among
-- The best so many of these slots by looking at each, and all that are as good as the last of them, with their vectors.
WITH near AS MATERIALIZED (
  SELECT slot, -(vector <#> $3::vector) AS nearness FROM recollect.vectors
  WHERE owner = $1 AND lane = $2 AND slot = ANY ($4::integer[])
), best AS (SELECT nearness FROM near ORDER BY nearness DESC LIMIT $5)
SELECT slot, vector FROM recollect.vectors WHERE owner = $1 AND lane = $2 AND slot = ANY (ARRAY (
  SELECT slot FROM near WHERE nearness >= (SELECT min(nearness) FROM best) - 0.00001
));
