-- one turn of a queue as PGMQ has it: a message is sent, one is read, which hides it for a while, and deleted; a look that finds nothing is no error: it may take so long that others have taken all it saw
\set id 0
INSERT INTO messages (vt, message) VALUES (clock_timestamp(), '{"n": 1}');
WITH next AS (SELECT msg_id FROM messages WHERE vt <= clock_timestamp() ORDER BY msg_id LIMIT 1 FOR UPDATE SKIP LOCKED) UPDATE messages m SET vt = clock_timestamp() + interval '30 seconds', read_ct = read_ct + 1 FROM next WHERE m.msg_id = next.msg_id RETURNING m.msg_id AS id \aset
DELETE FROM messages WHERE msg_id = :id;
