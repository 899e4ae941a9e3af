# Extensions of the server's contrib directory, and pg_repack where it is installed, on zheap tables as users run them: the same
# statements on heap give the same answers; what would take zheap pages for heap's is refused, and leaves every byte as it was.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('contrib', [ 'autovacuum = off', 'shared_buffers = 32MB', 'zheap.undo_workers = 0',
		"shared_preload_libraries = 'zheap, pg_stat_statements, auto_explain, pg_prewarm'", 'pg_prewarm.autoprewarm_interval = 0',
		'compute_query_id = on' ]);
my @missing = grep { $node->safe_psql('postgres', "select count(*) from pg_available_extensions where name = '$_'") eq '0' }
  qw(amcheck pageinspect pgstattuple pg_visibility pgrowlocks pg_surgery pg_freespacemap pg_prewarm pg_buffercache pg_stat_statements
  postgres_fdw dblink tablefunc lo file_fdw hstore citext btree_gist btree_gin pg_trgm intarray ltree bloom cube seg);
plan skip_all => "extensions are missing: @missing" if @missing;
$node->safe_psql('postgres', "create extension $_ schema public") foreach
  qw(amcheck pageinspect pgstattuple pg_visibility pgrowlocks pg_surgery pg_freespacemap pg_prewarm pg_buffercache pg_stat_statements
  postgres_fdw dblink tablefunc lo file_fdw hstore citext btree_gist btree_gin pg_trgm intarray ltree bloom cube seg);
$node->safe_psql('postgres', 'create schema heap; create schema zheap_; alter database postgres set compute_query_id = on');

sub sql { return $node->safe_psql('postgres', $_[0]); }

# The statements on tables of an access method, which are in a schema of their own.  Returns what they print, errors without the place.
my %schema = (heap => 'heap', zheap => 'zheap_');

sub with
{
	my ($am, $sql) = @_;
	my (undef, $out, $err) = $node->psql('postgres',
		"set search_path = $schema{$am}, public; set default_table_access_method = $am; set client_min_messages = warning;\n$sql", on_error_stop => 0);

	$err =~ s/^psql:<stdin>:\d+: //mg;
	$err =~ s/$schema{$am}\b/SCHEMA/g;
	return "$out$err";
}

# ... and on both, with the same answer, in which so many statements fail.
sub same
{
	my ($what, $sql, $errors) = @_;
	my $expected = with('heap', $sql);
	my $failed = () = $expected =~ /ERROR: /g;

	is(with('zheap', $sql), $expected, "$what: as heap");
	is($failed, $errors // 0, "$what: statements that fail on heap") or diag($expected);
	return $expected;
}

# ---- what looks at pages ----

same('tables', <<'SQL');
create table t (id int primary key, n int, v text);
create index t_n on t (n);
create index t_v on t (v);
insert into t select g, g, 'v' || g from generate_series(1, 5000) g;
-- bytes that would be a committed deletion in a heap tuple's header
create table hints (id int, a bigint, b int, c int);
insert into hints select g, 0, 0, 1 from generate_series(1, 5000) g;
select count(*), sum(c) from hints;
SQL
sql('vacuum zheap_.hints; vacuum zheap_.t');
is(sql("select all_visible > 10 from pg_visibility_map_summary('zheap_.hints')"), 't', 'pages are marked all-visible');

sub pages
{
	return sql("select string_agg(md5(get_raw_page('$_[0]', b::int)), ' ') from generate_series(0, pg_relation_size('$_[0]') / 8192 - 1) b");
}

sub refused
{
	my ($statement, $message) = @_;
	my (undef, undef, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$statement");

	like($err, qr/ERROR:  0A000: $message/, "refused: $statement");
	return;
}

my %before = map { $_ => pages($_) } 'zheap_.hints', 'zheap_.t';
foreach my $table (sort keys %before)
{
	refused($_, 'only heap AM is supported') foreach ("select verify_heapam('$table')", "select pgstattuple('$table')",
		"select pgstattuple_approx('$table')", "select pgrowlocks('$table')", "select heap_force_kill('$table', array['(0,1)']::tid[])",
		"select heap_force_freeze('$table', array['(0,1)']::tid[])");
	my ($name) = $table =~ /(\w+)$/;
	foreach my $function (qw(pg_check_visible pg_check_frozen))
	{
		refused("select count(*) from $function('$table')", "$function\\(\\) cannot check table \"$name\"");
		refused("select $function(c.oid) from pg_class c where oid in ('heap.$name'::regclass, '$table'::regclass) order by relname", "$function\\(\\) cannot check table \"$name\"");
	}
	is(pages($table), $before{$table}, "no byte of $table has changed");
}
# it may have any name in SQL, and go on after an error
sql("create function other_name(regclass, out t_ctid tid) returns setof tid as '\$libdir/pg_visibility', 'pg_check_visible' language c strict");
refused("select count(*) from other_name('zheap_.hints')", 'pg_check_visible\(\) cannot check');
is(sql(<<'SQL'), "refused\n5000\nrefused\n0\n5000", 'what comes after it in a session works');
create function try_check(t regclass) returns text language plpgsql as $$
begin return (select count(*) from pg_check_visible(t)); exception when feature_not_supported then return 'refused'; end $$;
begin;
select try_check('zheap_.hints');
select count(*) from zheap_.hints;
select try_check('zheap_.t');
select try_check('heap.t');
select count(*) from zheap_.t;
commit;
SQL
is(sql("vacuum heap.t; select count(*) from pg_check_visible('heap.t'), pg_check_frozen('heap.t')"), '0', 'heap tables are still checked');

# what works
is(sql("select count(*) from generate_series(0, pg_relation_size('zheap_.t') / 8192 - 1) b, heap_page_items(get_raw_page('zheap_.t', b::int)) where lp_flags = 1"),
	'5000', 'pageinspect shows line pointers');
is(sql("select count(*) > 0 from generate_series(0, pg_relation_size('zheap_.t') / 8192 - 1) b, heap_page_item_attrs(get_raw_page('zheap_.t', b::int), 'zheap_.t')"),
	't', 'and survives rows that are not heap rows');
is(sql("select pg_relpages('zheap_.t') = pg_relation_size('zheap_.t') / 8192"), 't', 'pg_relpages');
sql("select pg_truncate_visibility_map('zheap_.t')");
is(sql("select all_visible from pg_visibility_map_summary('zheap_.t')"), '0', 'the visibility map is truncated');
sql('vacuum zheap_.t');
is(sql("select count(*) from pg_visibility('zheap_.t') where not all_visible or not pd_all_visible"), '0', 'and made anew by VACUUM');
same('rows', "select md5(string_agg(t::text, ' ' order by id)) from t");

# ---- amcheck: entries of several keys of a row ----

same('keys', <<'SQL');
begin; update t set n = n + 10000 where id % 3 = 0; commit;
begin; update t set n = n - 10000 where id % 2 = 0; update t set v = 'w' || id where id % 5 = 0; rollback;
update t set n = id where id % 6 = 0;
update t set v = 'x' || id where id % 7 = 0;
delete from t where id % 11 = 0;
SQL
foreach my $index (qw(t_pkey t_n t_v))
{
	foreach my $check ("bt_index_check('$index')", "bt_index_check('$index', true)", "bt_index_parent_check('$index')", "bt_index_parent_check('$index', true, true)")
	{
		same('amcheck', "select $check");
	}
	is(sql("select index_size = pg_relation_size('zheap_.$index') and leaf_pages > 0 and avg_leaf_density > 10 from pgstatindex('zheap_.$index')"), 't', "pgstatindex of $index");
}
sql('vacuum zheap_.t');
same('amcheck after VACUUM', "select bt_index_parent_check(i, true, true) from unnest(array['t_pkey', 't_n', 't_v']::regclass[]) i");
is(sql("select count(*) = pg_relation_size('zheap_.t') / 8192 and max(avail) < 8192 and sum(avail) > 5000 from pg_freespace('zheap_.t')"), 't', 'pg_freespacemap knows of the deleted rows');

# ---- pg_prewarm ----

foreach my $relation ('zheap_.t', 'zheap_.t_n')
{
	is(sql("select count(*) from unnest(array['prefetch', 'read', 'buffer']) m where pg_prewarm('$relation', m) = pg_relation_size('$relation') / 8192"), '3', "pg_prewarm of $relation");
}
is(sql("select pg_prewarm('zheap_.t', 'buffer', 'vm') = pg_relation_size('zheap_.t', 'vm') / 8192 and pg_prewarm('zheap_.t', 'buffer', 'fsm') = pg_relation_size('zheap_.t', 'fsm') / 8192"), 't', 'and of its map forks');
my $loaded = "select count(distinct relblocknumber) from pg_buffercache where relfilenode = pg_relation_filenode('zheap_.t') and relforknumber = 0 and reldatabase = (select oid from pg_database where datname = current_database())";
my $all = sql("select pg_relation_size('zheap_.t') / 8192");
is(sql($loaded), $all, 'all blocks are in shared buffers');
$node->restart;
ok($node->poll_query_until('postgres', "select ($loaded) = $all"), 'autoprewarm loads them after a restart');
same('rows', "select md5(string_agg(t::text, ' ' order by id)) from t");

# ---- pg_stat_statements, auto_explain ----

same('pg_stat_statements', <<'SQL');
create table s (id int primary key, n int);
select from pg_stat_statements_reset();
insert into s select g, g from generate_series(1, 500) g;
update s set n = n + 1 where id <= 100;
delete from s where id > 450;
select count(*) from s where n > 0;
select id from s where id in (3, 4) for update;
SQL
my $counted = sql("select count(*) || ' ' || sum(rows) || ' ' || bool_and(shared_blks_hit > 0) || ' ' || bool_and(case when query ~ '^(insert|update|delete)' then wal_records > 0 and wal_bytes > 0 else wal_bytes < 1000 end) from pg_stat_statements where query ~ '^(insert into s|update s|delete from s|select count.* from s|select id from s)'");
is($counted, '5 653 true true', 'rows, blocks and WAL are counted');
with('zheap', <<'SQL');
set auto_explain.log_min_duration = 0; set auto_explain.log_analyze = on; set auto_explain.log_buffers = on; set auto_explain.log_wal = on; set auto_explain.log_nested_statements = on;
update s set n = n + 1 where id <= 10 returning *;
SQL
my ($plan) = slurp_file($node->logfile) =~ /(Query Text: update s set n = n \+ 1 where id <= 10 .*?)(?:\n\d{4}-|\z)/s;
like($plan // '', qr/Update on s .*actual .*rows=10(?:\.00)? .*Buffers: shared hit=\d+.*WAL: records=\d+.* bytes=\d+/s, 'auto_explain logs plan, buffers and WAL') or diag(slurp_file($node->logfile));

# ---- postgres_fdw, dblink ----

my $to_self = "host '" . $node->host . "', port '" . $node->port . "', dbname 'postgres'";
sql("create server self foreign data wrapper postgres_fdw options ($to_self); create user mapping for current_user server self options (user '" . $node->safe_psql('postgres', 'select current_user') . "')");
foreach my $estimate (qw(false true))
{
	foreach my $am (qw(heap zheap))
	{
		with($am, <<"SQL");
drop table if exists far cascade;
create table far (id int primary key, n int, v text, constraint positive check (n >= 0));
insert into far select g, g, 'v' || g from generate_series(1, 300) g;
drop foreign table if exists f;
create foreign table f (id int not null, n int, v text) server self options (schema_name '$schema{$am}', table_name 'far', use_remote_estimate '$estimate');
SQL
	}
	same("postgres_fdw, use_remote_estimate $estimate", <<'SQL', 2);
create or replace function here(i int) returns int language plpgsql volatile as $$ begin return i; end $$;
select count(*), sum(n), min(v) from f;
select * from f where id between 10 and 12 order by id;
-- sent as they are
update f set n = n + 1000 where id < 4 returning *;
delete from f where id = 5 returning v;
insert into f values (1001, 1, 'new'), (1002, 2, 'new') returning id, v;
insert into f values (1001, 1, 'again') on conflict do nothing returning id;
-- row by row, by ctid
update f set n = n + 1 where here(id) between 10 and 14 returning id, n;
update f set n = n + 1, v = v || repeat('x', 300) where here(id) between 10 and 14 returning id, n, length(v);
update f set n = f.n + x.n from (values (20, 7), (21, 8)) x (id, n) where f.id = x.id and here(f.id) > 0 returning f.id, f.n;
delete from f where here(id) in (30, 31) returning *;
with gone as (delete from f where here(id) in (40, 41) returning *) insert into f select id + 2000, n, v from gone returning *;
update f set n = -1 where id = 50;
insert into f values (1, 1, 'twice');
begin; update f set n = 0; savepoint a; delete from f where here(id) < 100; rollback to a; select count(*), sum(n) from f; rollback;
begin; update f set v = 'seen' where here(id) = 60; update f set v = v || ' twice' where here(id) = 60 returning v; select v from f where id = 60; commit;
begin isolation level repeatable read; select count(*), sum(n) from f; update f set n = n where id = 61; select id, n from f where id = 61 for update; commit;
begin; declare c cursor for select id, v from f order by id; fetch 2 from c; update f set v = 'behind the cursor'; fetch 2 from c; rollback;
select count(*), sum(n), md5(string_agg(far::text, ' ' order by id)) from far;
analyze f;
truncate f;
select count(*) from far;
SQL
}
foreach my $am (qw(heap zheap))
{
	with($am, "drop schema if exists import_$am cascade; create schema import_$am; import foreign schema $schema{$am} limit to (s, far) from server self into import_$am options (import_default 'true')");
}
is(sql("select string_agg(attrelid::regclass::text || '.' || attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attrelid::regclass::text, attnum) from pg_attribute where attrelid in ('import_zheap.far'::regclass, 'import_zheap.s'::regclass) and attnum > 0"),
	'import_zheap.far.id integer, import_zheap.far.n integer, import_zheap.far.v text, import_zheap.s.id integer, import_zheap.s.n integer', 'IMPORT FOREIGN SCHEMA');
is(sql('select count(*) from import_zheap.s'), '450', 'and its rows');
my $connection = "host=" . $node->host . " port=" . $node->port . " dbname=postgres";
same('dblink', <<"SQL");
select dblink_connect('c', '$connection');
select dblink_exec('c', 'set search_path = ' || current_setting('search_path'));
select dblink_exec('c', 'begin'), dblink_exec('c', 'update s set n = -id where id < 10'), dblink_exec('c', 'insert into s values (9001, 1)');
select count(*) from s where n < 0;
select * from dblink('c', 'select id, n from s where n < 0 order by id') x (id int, n int);
select dblink_exec('c', 'rollback'), dblink_exec('c', 'delete from s where id = 9');
select dblink_open('c', 'cu', 'select id from s order by id'), dblink_exec('c', 'update s set n = 0');
select * from dblink_fetch('c', 'cu', 3) x (id int);
select dblink_close('c', 'cu'), dblink_disconnect('c');
select count(*), sum(n) from s;
SQL

# ---- tablefunc, lo, file_fdw ----

my $csv = $node->basedir . '/rows.csv';
append_to_file($csv, join('', map { "$_,n$_\n" } 1 .. 1000));
same('tablefunc, lo, file_fdw', <<"SQL");
create table tree (id text, parent text, pos int);
insert into tree values ('1', null, 0), ('2', '1', 0), ('3', '1', 0), ('4', '2', 1), ('5', '2', 0);
update tree set parent = '3', pos = 5 where id = '4';
select * from connectby('tree', 'id', 'parent', 'pos', '1', 0, '-') x (id text, parent text, level int, branch text, pos int);
create table facts (k text, attr text, val int);
insert into facts select 'k' || g % 3, 'a' || g % 4, g from generate_series(0, 11) g;
update facts set val = val * 10 where attr = 'a2';
select * from crosstab('select k, attr, val from facts order by 1, 2', 'select distinct attr from facts order by 1') x (k text, a0 int, a1 int, a2 int, a3 int);
create table blobs (id int primary key, blob lo);
create trigger manage before update or delete on blobs for each row execute function lo_manage(blob);
create temp table objects as select lo_from_bytea(0, ('b' || g)::bytea) as o from generate_series(1, 6) g;
insert into blobs select row_number() over (order by o), o from objects limit 5;
update blobs set blob = (select max(o) from objects) where id = 1;
delete from blobs where id in (2, 3);
begin; delete from blobs; rollback;
select b.id, convert_from(lo_get(b.blob), 'UTF8') from blobs b order by 1;
select count(*) from objects join pg_largeobject_metadata m on m.oid = o;
create server if not exists files foreign data wrapper file_fdw;
create foreign table rows_of_file (id int, v text) server files options (filename '$csv', format 'csv');
create table loaded (id int primary key, v text);
insert into loaded select * from rows_of_file;
merge into loaded l using (select id, 'merged' as v from rows_of_file where id % 2 = 0) r on l.id = r.id when matched then update set v = r.v;
update loaded set v = r.v || '!' from rows_of_file r where loaded.id = r.id and r.id % 5 = 0;
select count(*), md5(string_agg(loaded::text, ' ' order by id)) from loaded;
SQL

# ---- indexes of types and access methods that extensions bring ----

# name, column type, expression of a row's number that makes a value, index, conditions
my @indexes = (
	[ 'hstore_gin', 'hstore', "hstore('a', (%s %% 50)::text) || hstore('b' || %s %% 7, 'x')", 'using gin (x)', [ "x ? 'b3'", "x \@> 'a=>11'", "x ?& array['b1','a']" ] ],
	[ 'hstore_gist', 'hstore', "hstore('a', (%s %% 50)::text) || hstore('b' || %s %% 7, 'x')", 'using gist (x)', [ "x ? 'b3'", "x \@> 'a=>11'" ] ],
	[ 'hstore_hash', 'hstore', "hstore('a', (%s %% 50)::text)", 'using hash (x)', [ "x = 'a=>11'" ] ],
	[ 'citext_btree', 'citext', "case %s %% 2 when 0 then 'Name' else 'NAME' end || %s %% 60", '(x)', [ "x = 'nAmE17'", "x between 'name1' and 'NAME2'" ] ],
	[ 'citext_hash', 'citext', "'Name' || %s %% 60", 'using hash (x)', [ "x = 'nAmE17'" ] ],
	[ 'btree_gist', 'int', '%s %% 97', 'using gist (x)', [ 'x = 17', 'x < 5', 'x <> 17 and x between 16 and 18' ] ],
	[ 'btree_gist_text', 'text', "'t' || %s %% 97", 'using gist (x)', [ "x = 't17'", "x < 't13'" ] ],
	[ 'btree_gin', 'int', '%s %% 97', 'using gin (x)', [ 'x = 17', 'x < 5', 'x > 90' ] ],
	[ 'btree_gin_ts', 'timestamptz', "'2020-01-01 UTC'::timestamptz + %s %% 97 * interval '1 day'", 'using gin (x)', [ "x = '2020-01-05 UTC'", "x < '2020-01-09 UTC'" ] ],
	[ 'trgm_gin', 'text', "'the quick ' || md5((%s %% 40)::text)", 'using gin (x gin_trgm_ops)', [ "x like '%%' || substr(md5('17'), 3, 6) || '%%'", "x % ('the quick ' || md5('17'))" ] ],
	[ 'trgm_gist', 'text', "'the quick ' || md5((%s %% 40)::text)", 'using gist (x gist_trgm_ops)', [ "x like '%%' || substr(md5('17'), 3, 6) || '%%'", "x % ('the quick ' || md5('17'))" ] ],
	[ 'intarray_gin', 'int[]', 'array[%s %% 11, %s %% 13, 99]', 'using gin (x gin__int_ops)', [ "x \@> '{3,7}'", "x \@\@ '3&(7|8)'", "x && '{12}'" ] ],
	[ 'intarray_gist', 'int[]', 'array[%s %% 11, %s %% 13, 99]', 'using gist (x gist__int_ops)', [ "x \@> '{3,7}'", "x \@\@ '3&(7|8)'", "x && '{12}'" ] ],
	[ 'ltree_gist', 'ltree', "('Top.a' || %s %% 5 || '.b' || %s %% 9)::ltree", 'using gist (x)', [ "x <@ 'Top.a3'", "x ~ '*.b7'", "x = 'Top.a1.b1'" ] ],
	[ 'ltree_btree', 'ltree', "('Top.a' || %s %% 5 || '.b' || %s %% 9)::ltree", '(x)', [ "x = 'Top.a1.b1'", "x > 'Top.a3.b5'" ] ],
	[ 'bloom', 'int', '%s %% 97', 'using bloom (x, id)', [ 'x = 17', 'x = 17 and id = 17' ] ],
	[ 'cube_gist', 'cube', 'cube(array[%s %% 31, %s %% 17])', 'using gist (x)', [ "x <@ '(3,3),(6,6)'::cube", "x && '(10,1),(11,9)'::cube" ] ],
	[ 'seg_gist', 'seg', "((%s %% 31)::text || ' .. ' || (%s %% 31 + 2)::text)::seg", 'using gist (x)', [ "x \@> '5 .. 6'", "x && '9 .. 10'" ] ]);

# the value of a number
sub value
{
	my ($form, $number) = @_;

	return $form =~ s/%s/($number)/gr =~ s/%%/%/gr;
}

# The rows that each condition finds, by the index alone.
sub found
{
	my ($name, $conditions) = @_;

	return join('', map { "select count(*), md5(string_agg(id::text || x::text, ' ' order by id)) from $name where " . s/%%/%/gr . ";\n" } @$conditions);
}

# since 16 the order of an aggregate's rows may be taken from the primary key's index
my $by_index = "set enable_seqscan = off;\n";
$by_index .= "set enable_presorted_aggregate = off;\n" if pg_major() >= 16;
my %old;
foreach my $case (@indexes)
{
	my ($name, $type, $form, $index, $conditions) = @$case;

	with($_, "create table $name (id int primary key, x $type, n int); create index ${name}_x on $name $index; insert into $name select g, @{[ value($form, 'g') ]}, 0 from generate_series(1, 1500) g; analyze $name") foreach qw(heap zheap);
}
foreach my $am (qw(heap zheap))
{
	$old{$am} = $node->background_psql('postgres');
	$old{$am}->query_safe("set search_path = $schema{$am}, public; $by_index begin isolation level repeatable read; select 1");
}
foreach my $case (@indexes)
{
	my ($name, $type, $form, $index, $conditions) = @$case;
	my $then = with('heap', $by_index . found($name, $conditions));

	like(with('zheap', $by_index . "explain " . found($name, [ $conditions->[0] ])), qr/${name}_x/, "$name: the index is used");
	same($name, <<"SQL");
update $name set x = @{[ value($form, 'id + 3') ]} where id % 3 = 0;
update $name set n = n + 1;
update $name set x = @{[ value($form, 'id + 5') ]} where id % 6 = 0;
begin; update $name set x = @{[ value($form, 'id + 7') ]}; insert into $name select g, @{[ value($form, 'g') ]}, 1 from generate_series(5001, 5100) g; rollback;
begin; savepoint a; update $name set x = @{[ value($form, 'id + 11') ]} where id < 200; rollback to a; update $name set x = @{[ value($form, 'id + 1') ]} where id between 100 and 300; commit;
delete from $name where id % 10 = 0;
update $name set x = null where id % 13 = 0;
SQL
	foreach my $state ('changed', 'vacuumed')
	{
		my $now = same("$name, $state", $by_index . found($name, $conditions));

		isnt($now, $then, "$name: something has changed");
		foreach my $am (qw(heap zheap))
		{
			is($old{$am}->query_safe(found($name, $conditions)) . "\n", $then =~ s/\n?$/\n/r, "$name, $state: the old snapshot on $am");
		}
		sql("vacuum heap.$name; vacuum zheap_.$name") if $state eq 'changed';
	}
}
foreach my $am (qw(heap zheap))
{
	$old{$am}->query_safe('commit');
	$old{$am}->quit;
	sql("vacuum $schema{$am}.$_->[0]") foreach @indexes;
}
same("$_->[0], no old snapshot", $by_index . found($_->[0], $_->[4])) foreach @indexes;
same('exclusion constraint of btree_gist', <<'SQL', 2);
create table rooms (room int, during int4range, n int, exclude using gist (room with =, during with &&));
insert into rooms select g % 5, int4range(g * 10, g * 10 + 5), g from generate_series(1, 50) g;
insert into rooms values (1, '[12,13)', 0);
update rooms set during = '[100,200)' where n = 1;
update rooms set during = '[1000,1001)' where n = 1;
insert into rooms values (1, '[12,13)', 0);
begin; delete from rooms where n = 0; insert into rooms values (1, '[11,14)', -1); rollback;
insert into rooms values (1, '[11,14)', -1) on conflict do nothing;
select count(*), md5(string_agg(rooms::text, ' ' order by n)) from rooms;
SQL
same('sorted by distance', "$by_index select id, x from trgm_gist order by x <-> ('the quick ' || md5('17')), id limit 5; select id, x from btree_gist order by x <-> 40, id limit 5; select id from cube_gist order by x <-> '(4,4)'::cube, id limit 5;");

# ---- pg_repack ----

# What pg_repack does first: a table with the default access method.
my $oid = sql("select 'zheap_.t'::regclass::oid");
my $heap_oid = sql("select 'heap.t'::regclass::oid");
sql('create schema repack');
refused("create table repack.table_$oid using heap as select * from zheap_.t", 'table "t" with access method "zheap" cannot be replaced by one with "heap"');
refused("set default_table_access_method = zheap; create table repack.table_$heap_oid as select * from heap.t", 'table "t" with access method "heap" cannot be replaced by one with "zheap"');
sql($_) foreach ("create table repack.table_$oid using zheap as select * from zheap_.t with no data", "create table repack.table_$heap_oid using heap as select * from heap.t with no data",
	'create table repack.table_x (a int) using zheap', 'create table repack.table_1 (a int) using zheap', 'create table repack.table_99999999999 (a int) using zheap', "create table zheap_.table_$oid (a int) using heap");
sql('drop schema repack cascade');
SKIP:
{
	skip 'pg_repack is not installed', 1
	  if sql("select count(*) from pg_available_extensions where name = 'pg_repack'") eq '0' || !grep { -x "$_/pg_repack" } split /:/, $ENV{PATH};
	local %ENV = $node->_get_env();
	my $expected = table_digest($node, 'zheap_.t');

	sql('create extension pg_repack');
	$node->command_fails_like([ 'pg_repack', '-t', 'zheap_.t', '--no-order', 'postgres' ],
		qr/table "t" with access method "zheap" cannot be replaced by one with "heap"/, 'pg_repack with the default access method');
	is(table_digest($node, 'zheap_.t'), $expected, 'refused, and all rows are there');
	is(sql("select count(*) from pg_trigger where tgrelid = 'zheap_.t'::regclass"), '0', 'with no trigger left');
	$node->command_ok([ 'pg_repack', '-x', '-t', 'zheap_.t', 'postgres' ], 'of indexes only');
	{
		local $ENV{PGOPTIONS} = '-c default_table_access_method=zheap';

		$node->command_ok([ 'pg_repack', '-t', 'zheap_.t', '--no-order', 'postgres' ], 'pg_repack with zheap as default');
		$node->command_fails_like([ 'pg_repack', '-t', 'heap.t', '--no-order', 'postgres' ],
			qr/table "t" with access method "heap" cannot be replaced by one with "zheap"/, 'of a heap table then');
	}
	is(table_digest($node, 'zheap_.t'), $expected, 'all rows are there');
	same('amcheck after pg_repack', "select bt_index_parent_check(i, true, true) from unnest(array['t_pkey', 't_n', 't_v']::regclass[]) i");
	same('changes after pg_repack', "begin; update t set n = -1; rollback; update t set n = n + 1 where id % 2 = 0; select count(*), sum(n) from t");
	is(sql("select relfrozenxid from pg_class where oid = 'zheap_.t'::regclass"), '0', 'it has still nothing to freeze');
	$node->command_ok([ 'pg_repack', '-t', 'heap.t', 'postgres' ], 'pg_repack of a heap table');
}

# ---- to the end ----

my $digests = sql("select md5(string_agg(t::text, ' ' order by id)) from zheap_.t");
crash($node);
start_again($node);
is(sql("select md5(string_agg(t::text, ' ' order by id)) from zheap_.t"), $digests, 'the same after a crash');
same("$_->[0], after a crash", $by_index . found($_->[0], $_->[4])) foreach @indexes;
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
