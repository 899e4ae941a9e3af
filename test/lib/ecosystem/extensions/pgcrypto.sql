-- Random keys, digests and encrypted values, updated in place.
create extension pgcrypto;
create extension "uuid-ossp";
create table t (id uuid primary key default uuid_generate_v4(), n int, v text, d bytea);
insert into t (n, v) select g, 'name ' || g % 50 from generate_series(1, 1000) g;
update t set d = digest(v, 'sha256') where n % 2 = 0;
update t set v = pgp_sym_encrypt(v, 'key', 'cipher-algo=aes128')::text where n % 10 = 0;
update t set id = uuid_generate_v5(uuid_ns_url(), n::text) where n % 3 = 0;
begin; delete from t; rollback;
delete from t where n % 7 = 0;
select count(*), count(distinct d), sum(n), md5(string_agg(d::text, ',' order by n)) from t;
select count(*) from t where n % 10 = 0 and pgp_sym_decrypt(v::bytea, 'key') = 'name 0';
select n from t where id = uuid_generate_v5(uuid_ns_url(), '33');
