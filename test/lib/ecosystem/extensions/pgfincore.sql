-- What of a table's files the operating system caches.
-- package: postgresql-15-pgfincore
create extension pgfincore;
create table t (id int primary key, v text);
insert into t select g, repeat('v', 100) from generate_series(1, 3000) g;
checkpoint;
select segment, rel_os_pages > 10, pages_mem >= 0 from pgfincore('t');
select count(*) from pgfadvise_willneed('t');
select count(*) from pgfadvise_dontneed('t');
select count(*) from pgfadvise_normal('t_pkey');
select count(*), sum(length(v)) from t;
