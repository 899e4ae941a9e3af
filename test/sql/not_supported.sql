-- What zheap cannot do yet ends in a clear error, never in a wrong result: "... is not supported yet", SQLSTATE 0A000.
create table nsp_t (id int primary key, n int) using zheap;
insert into nsp_t values (1, 1), (2, 2);
-- rewrites in index order
\set VERBOSITY sqlstate
cluster nsp_t using nsp_t_pkey;
vacuum full nsp_t;
\set VERBOSITY default
-- and nothing of it has happened
select * from nsp_t order by id;
drop table nsp_t;
