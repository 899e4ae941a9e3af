-- one key of twenty of a document changes
\set id random(1, :rows)
\set key random(1, 20)
\set value random(1, 1000)
UPDATE documents SET document = jsonb_set(document, ARRAY['key' || :key::text], to_jsonb('value ' || :value::text)) WHERE id = :id;
