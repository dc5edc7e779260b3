-- name: mark
-- How far a shelf was followed.
MATCH (s:RecollectShelf {owner: $owner}) RETURN s.mark

-- name: settle
-- A shelf was followed as far as this.
MERGE (s:RecollectShelf {owner: $owner}) SET s.mark = $mark

-- name: drop_links
-- The links and aliases that some records state.
MATCH (r:RecollectRecord)-[:SAYS]->(:RecollectName)-[e:LINK|ALIAS]->(:RecollectName)
WHERE r.owner = $owner AND r.key IN $keys AND e.record = r.key DELETE e

-- name: drop_records
-- Some records, and what they say.
MATCH (r:RecollectRecord) WHERE r.owner = $owner AND r.key IN $keys DETACH DELETE r

-- name: put_records
-- Records, with what they are told apart by.
UNWIND $rows AS row CREATE (r:RecollectRecord) SET r = row

-- name: put_names
-- Names, with what a question may have of them.
UNWIND $rows AS row MERGE (n:RecollectName {owner: row.owner, key: row.key}) SET n += row

-- name: put_says
-- Which record says which name.
UNWIND $rows AS row MATCH (r:RecollectRecord {owner: row.owner, key: row.record})
MATCH (n:RecollectName {owner: row.owner, key: row.name}) CREATE (r)-[:SAYS]->(n)

-- name: put_links
-- Links between names, by the record that states them.
UNWIND $rows AS row MATCH (a:RecollectName {owner: row.owner, key: row.subject})
MATCH (b:RecollectName {owner: row.owner, key: row.object})
CREATE (a)-[:LINK {record: row.record, predicate: row.predicate, weight: row.weight}]->(b)

-- name: put_aliases
-- Which name is another's alias, by the record that says so.
UNWIND $rows AS row MATCH (a:RecollectName {owner: row.owner, key: row.alias})
MATCH (b:RecollectName {owner: row.owner, key: row.name}) CREATE (a)-[:ALIAS {record: row.record}]->(b)

-- name: sweep
-- Names of a shelf that no record says any more.
MATCH (n:RecollectName {owner: $owner}) WHERE NOT (n)<-[:SAYS]-() DETACH DELETE n

-- name: keys
-- The records of a shelf.
MATCH (r:RecollectRecord {owner: $owner}) RETURN r.key

-- name: candidates
-- Names that a question with these words may name.
MATCH (n:RecollectName) WHERE n.owner IN $owners
AND (n.first IN $words OR n.last IN $words OR n.start IN $starts OR n.head IN $heads OR n.tail IN $tails)
RETURN DISTINCT n.key ORDER BY n.key LIMIT $most

-- name: near
-- The records that say these names, those added last first, so many a name.
MATCH (n:RecollectName)<-[:SAYS]-(r:RecollectRecord) WHERE n.owner IN $owners AND n.key IN $names AND r.owner = n.owner
AND /*sight*/ WITH n, r ORDER BY r.key DESC RETURN n.key, collect(r.key)[0..$most]

-- name: around_1
-- Names one hop from these, over a link or an alias.
MATCH (n:RecollectName)-[:LINK|ALIAS]-(m:RecollectName) WHERE n.owner IN $owners AND n.key IN $names
RETURN DISTINCT m.key ORDER BY m.key LIMIT $most

-- name: around_2
-- Names one or two hops from these, over links or aliases.
MATCH (n:RecollectName)-[:LINK|ALIAS*1..2]-(m:RecollectName) WHERE n.owner IN $owners AND n.key IN $names
RETURN DISTINCT m.key ORDER BY m.key LIMIT $most
