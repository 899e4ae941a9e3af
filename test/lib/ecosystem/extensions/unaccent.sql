-- A dictionary in a text search configuration, and a generated column with a GIN index.
create extension unaccent;
create text search configuration plain (copy = simple);
alter text search configuration plain alter mapping for hword, hword_part, word with unaccent, simple;
create table t (id int primary key, v text, words tsvector generated always as (to_tsvector('plain', v)) stored);
create index t_words on t using gin (words);
insert into t select g, case g % 2 when 0 then 'Hôtel' else 'hotel' end || ' nr' || g % 20 from generate_series(1, 1000) g;
update t set v = 'Gästehaus nr' || id % 7 where id % 3 = 0;
begin; update t set v = 'none'; rollback;
delete from t where id % 10 = 0;
vacuum t;
set enable_seqscan = off;
select count(*), sum(id) from t where words @@ to_tsquery('plain', 'hotel & nr8');
select count(*), sum(id) from t where words @@ to_tsquery('plain', 'gastehaus');
select count(*) from t where unaccent(v) like 'Hotel%';
