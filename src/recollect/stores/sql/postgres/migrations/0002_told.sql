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

DO $$
BEGIN
  FOR part IN 0..15 LOOP
    EXECUTE format(
      'CREATE TABLE recollect.%I PARTITION OF recollect.told FOR VALUES WITH (MODULUS 16, REMAINDER %s)', 'told_' || part, part
    );
  END LOOP;
END $$;
