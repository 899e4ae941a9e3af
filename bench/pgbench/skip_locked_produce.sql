-- a job is inserted
\set kind random(1, 10)
\set subject random(1, 1000000)
INSERT INTO jobs (payload) VALUES (jsonb_build_object('kind', :kind::int, 'subject', :subject::int));
