-- The whole schema of a new memory, equal to what the migrations make of an old one.
--
-- The owner is the plan. It comes first in every key, every table that holds an owner's things is hash-partitioned by it, and every
-- query that remembers or recalls names it: so it reads one partition, and on a cluster one node. Small tables that belong to
-- nobody (numbers, spaces, facts, notes, migrations) are written once a thing and would be copied to every node.

CREATE SCHEMA IF NOT EXISTS recollect;

CREATE TABLE recollect.migrations (
  number integer PRIMARY KEY,
  name text NOT NULL
);

-- Facts about the memory itself: `tokens`, the version of the tokenisation its terms were made with.
CREATE TABLE recollect.facts (
  name text COLLATE "C" PRIMARY KEY,
  value text NOT NULL
);

-- A short number for every owner: a record's key is its owner's number and its slot.
CREATE TABLE recollect.numbers (
  no bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 2147483647) PRIMARY KEY,
  owner text COLLATE "C" NOT NULL UNIQUE
);

-- How long the vectors of a space are, whoever's they are.
CREATE TABLE recollect.spaces (
  space text COLLATE "C" PRIMARY KEY,
  dimension integer NOT NULL
);

-- `change` counts the entries in `changes`; `next_slot` is the number of slots ever given out. Who writes holds this row.
CREATE TABLE recollect.owners (
  owner text COLLATE "C" PRIMARY KEY,
  no bigint NOT NULL,
  next_slot integer NOT NULL DEFAULT 0,
  change bigint NOT NULL DEFAULT 0,
  settings text
) PARTITION BY HASH (owner);

-- `terms` are packed hashes, to be searched in the process; `words` are the same terms with their places, for the server's own
-- full text search. Both come from the shared tokenisation.
CREATE TABLE recollect.records (
  owner text COLLATE "C" NOT NULL,
  slot integer NOT NULL,
  id text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  role text NOT NULL,
  agent text,
  project text,
  session text,
  turn bigint,
  at bigint,
  recorded_at bigint NOT NULL,
  valid_from bigint,
  valid_to bigint,
  superseded_at bigint,
  superseded_by text,
  quality double precision NOT NULL,
  confidence double precision NOT NULL,
  reinforced bigint NOT NULL,
  length integer NOT NULL,
  language text NOT NULL,
  terms bytea NOT NULL,
  text text NOT NULL,
  speaker text,
  source text,
  tags text,
  views text,
  metadata text,
  lexemes text NOT NULL,
  words tsvector GENERATED ALWAYS AS (lexemes::tsvector) STORED,
  PRIMARY KEY (owner, slot),
  UNIQUE (owner, id)
) PARTITION BY HASH (owner);
CREATE INDEX records_by_words ON recollect.records USING gin (words);

-- What was extracted from a record is found by its source, to go with it.
CREATE INDEX derived_by_source ON recollect.records (owner, source) WHERE role = 'derived';

-- What records speak of, as JSON: a row for those only that speak of something.
CREATE TABLE recollect.mentions (
  owner text COLLATE "C" NOT NULL,
  slot integer NOT NULL,
  entities text,
  links text,
  dates text,
  PRIMARY KEY (owner, slot)
) PARTITION BY HASH (owner);

-- What happened to rows that a reader may hold already: amended and forgotten slots, new vectors. Appended records need no
-- entry, a reader sees them by their slot. Old entries are pruned; a reader who is further behind loads anew.
CREATE TABLE recollect.changes (
  owner text COLLATE "C" NOT NULL,
  change bigint NOT NULL,
  what text NOT NULL,
  lane integer NOT NULL DEFAULT 0,
  slots bytea NOT NULL,
  PRIMARY KEY (owner, change)
) PARTITION BY HASH (owner);

-- One owner's view in one space; numbered for each owner from 1.
CREATE TABLE recollect.lanes (
  owner text COLLATE "C" NOT NULL,
  lane integer NOT NULL,
  space text NOT NULL,
  view text NOT NULL,
  dimension integer NOT NULL,
  PRIMARY KEY (owner, lane),
  UNIQUE (owner, space, view)
) PARTITION BY HASH (owner);

-- Of length one. `hash` is the text's: the same text is never embedded twice. Searched in the process that asks, lane by lane,
-- or on the server by an index of that lane alone (hnsw.sql): so there is none whose filter for an owner could miss some.
CREATE TABLE recollect.vectors (
  owner text COLLATE "C" NOT NULL,
  lane integer NOT NULL,
  slot integer NOT NULL,
  hash bytea NOT NULL,
  vector vector NOT NULL,
  PRIMARY KEY (owner, lane, slot)
) PARTITION BY HASH (owner);
CREATE INDEX vectors_by_hash ON recollect.vectors (hash);

-- Texts that wait for their vectors. A claimed job is due again when its lease ends.
CREATE SEQUENCE recollect.jobs;
CREATE TABLE recollect.outbox (
  owner text COLLATE "C" NOT NULL,
  number bigint NOT NULL DEFAULT nextval('recollect.jobs'),
  slot integer NOT NULL,
  space text NOT NULL,
  view text NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  due bigint NOT NULL DEFAULT 0,
  error text,
  PRIMARY KEY (owner, number),
  UNIQUE (owner, slot, space, view)
) PARTITION BY HASH (owner);
CREATE INDEX outbox_by_space ON recollect.outbox (space, number);

-- What the doors keep: access tokens, answers given already. A note with an `until` goes some time after it.
CREATE TABLE recollect.notes (
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text NOT NULL,
  until bigint,
  PRIMARY KEY (kind, name)
);
CREATE INDEX notes_by_until ON recollect.notes (until) WHERE until IS NOT NULL;

-- What was told lately, as a digest of all that was said: the same again within some minutes is a repetition. Rows go when that
-- time is over, and with their record, or when it says something else.
CREATE TABLE recollect.told (
  owner text COLLATE "C" NOT NULL,
  digest bytea NOT NULL,
  slot integer NOT NULL,
  until bigint NOT NULL,
  PRIMARY KEY (owner, digest)
) PARTITION BY HASH (owner);
CREATE INDEX told_by_slot ON recollect.told (owner, slot);
CREATE INDEX told_by_until ON recollect.told (owner, until);

-- Sixteen parts of each table that has an owner.
DO $$
DECLARE whole text;
BEGIN
  FOREACH whole IN ARRAY ARRAY['owners', 'records', 'mentions', 'changes', 'lanes', 'vectors', 'outbox', 'told'] LOOP
    FOR part IN 0..15 LOOP
      EXECUTE format(
        'CREATE TABLE recollect.%I PARTITION OF recollect.%I FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
        whole || '_' || part, whole, part
      );
    END LOOP;
  END LOOP;
END $$;
