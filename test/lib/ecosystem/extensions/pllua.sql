-- Functions and triggers in Lua that read and write tables.
-- package: postgresql-15-pllua
create extension pllua;
create table t (id int primary key, n int, v text);
create function touched() returns trigger language pllua as $$
  if trigger.operation == 'update' then trigger.row.n = trigger.row.n + trigger.old.n end
$$;
create trigger touched before update on t for each row execute function touched();
create function work(x int) returns int language pllua as $$
  spi.execute("insert into t values ($1, 1, 'lua')", x)
  for row in spi.rows("select * from t where id = $1", x) do
    spi.execute("update t set n = $2 where id = $1", row.id, row.n + x)
  end
  local ok = pcall(function() spi.execute("update t set n = 1 / 0") end)
  return x
$$;
select sum(work(g)) from generate_series(1, 50) g;
begin; update t set n = 0; rollback;
select count(*), sum(n) from t;
