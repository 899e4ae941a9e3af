-- The same statements on a heap table and on a zheap table give the same rows, row counts and errors.
-- A battery of statements runs on both; after each, contents and outcome are compared.
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
SELECT no_plan();

CREATE TABLE h (id int PRIMARY KEY, k int, n bigint, t text, a int[], d date DEFAULT '2000-01-01') USING heap;
CREATE TABLE z (id int PRIMARY KEY, k int, n bigint, t text, a int[], d date DEFAULT '2000-01-01') USING zheap;
CREATE INDEX ON h (k);
CREATE INDEX ON z (k);

-- run a statement on one of the tables: its row count, or its SQLSTATE
CREATE FUNCTION run_on(tab text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	count bigint;
BEGIN
	EXECUTE replace(statement, 'TAB', tab);
	GET DIAGNOSTICS count = ROW_COUNT;
	RETURN count::text;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;

CREATE FUNCTION twin(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN NEXT is(run_on('z', statement), run_on('h', statement), statement || ': outcome');
	RETURN NEXT bag_eq('SELECT * FROM z', 'SELECT * FROM h', statement || ': rows');
	SET LOCAL enable_seqscan = off;
	RETURN NEXT results_eq('SELECT * FROM z WHERE k BETWEEN 0 AND 50 ORDER BY k, id',
						   'SELECT * FROM h WHERE k BETWEEN 0 AND 50 ORDER BY k, id',
						   statement || ': rows by index');
	RESET enable_seqscan;
END $$;

SELECT is(amname, 'zheap', 'z is a zheap table')
FROM pg_class c JOIN pg_am a ON c.relam = a.oid WHERE c.oid = 'z'::regclass;

SELECT twin(statement) FROM (VALUES
	(1, $$INSERT INTO TAB (id, k, n, t, a) SELECT g, g % 100, g, 'row ' || g, ARRAY[g, g] FROM generate_series(1, 500) g$$),
	(2, $$INSERT INTO TAB (id) VALUES (501)$$),
	(3, $$INSERT INTO TAB (id) VALUES (7)$$),
	(4, $$UPDATE TAB SET n = n + 1$$),
	(5, $$UPDATE TAB SET t = repeat(t, 1 + id % 9) WHERE id % 2 = 0$$),
	(6, $$UPDATE TAB SET t = 'x' WHERE id % 4 = 0$$),
	(7, $$UPDATE TAB SET t = NULL, a = NULL WHERE id % 7 = 0$$),
	(8, $$UPDATE TAB SET k = k + 10 WHERE k < 20$$),
	(9, $$UPDATE TAB SET id = id + 1$$),
	(10, $$UPDATE TAB SET id = -id WHERE id > 400$$),
	(11, $$DELETE FROM TAB WHERE id % 5 = 0$$),
	(12, $$INSERT INTO TAB (id, k, t) SELECT g, 3, 'again' FROM generate_series(5, 400, 5) g$$),
	(13, $$INSERT INTO TAB (id, k) VALUES (5, 1), (6, 1) ON CONFLICT (id) DO UPDATE SET k = excluded.k + 40, t = 'conflict'$$),
	(14, $$INSERT INTO TAB (id, k) VALUES (8, 1), (8, 2) ON CONFLICT (id) DO UPDATE SET k = 0$$),
	(15, $$INSERT INTO TAB (id, k) VALUES (9, 1), (10001, 2) ON CONFLICT DO NOTHING$$),
	(16, $$MERGE INTO TAB USING (SELECT g AS id FROM generate_series(390, 410) g) s ON TAB.id = s.id
		WHEN MATCHED THEN UPDATE SET n = -1 WHEN NOT MATCHED THEN INSERT (id, k) VALUES (s.id, 4)$$),
	(17, $$WITH gone AS (DELETE FROM TAB WHERE k = 4 RETURNING *) INSERT INTO TAB SELECT id + 50000, k, n, t, a, d FROM gone$$),
	(18, $$UPDATE TAB SET t = repeat(md5(id::text), 200) WHERE id BETWEEN 1 AND 30$$),
	(19, $$UPDATE TAB SET n = 1 WHERE id BETWEEN 1 AND 30$$),
	(20, $$UPDATE TAB SET t = 'short' WHERE id BETWEEN 1 AND 15$$),
	(21, $$UPDATE TAB SET n = 1 / (id - 33)$$),
	(22, $$ALTER TABLE TAB ADD COLUMN e int DEFAULT 5$$),
	(23, $$UPDATE TAB SET e = e + 1 WHERE id % 3 = 0$$),
	(24, $$ALTER TABLE TAB DROP COLUMN a$$),
	(25, $$UPDATE TAB SET n = id WHERE id % 3 = 1$$),
	(26, $$ALTER TABLE TAB ALTER n TYPE numeric$$),
	(27, $$TRUNCATE TAB$$),
	(28, $$INSERT INTO TAB (id, k) VALUES (1, 1)$$)
) AS s (no, statement) ORDER BY no;

SELECT * FROM finish();
ROLLBACK;
