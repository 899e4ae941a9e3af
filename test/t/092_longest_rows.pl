# Rows as long as a page: whatever heap takes is taken, and behaves as there.  Twin tables in the schemas h (heap) and z (zheap);
# each statement runs on both, and tells the same.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('long', [ 'autovacuum = off', 'zheap.undo_workers = 0', 'wal_consistency_checking = all', 'lock_timeout = 0' ],
	allows_streaming => 1);
my $longest = 8142;
my $at_most = 8132;             # characters of a text column without compression, on heap

# What the statements tell on one of the two: output, then the errors' classes.
sub told
{
	my ($schema, $sql) = @_;
	my $am = $schema eq 'h' ? 'heap' : 'zheap';
	my ($rc, $out, $err) = $node->psql('postgres',
		"\\set VERBOSITY sqlstate\nset search_path = $schema, public; set default_table_access_method = $am; $sql", on_error_stop => 0);

	return "$out\n" . join("\n", $err =~ /(?:ERROR|FATAL): +(\w+)/g);
}

# The same on both; returns it.
sub both
{
	my ($sql, $what) = @_;
	my $heap = told('h', $sql);
	my $zheap = told('z', $sql);

	is($zheap, $heap, $what);
	return $zheap;
}

my $all = 'select count(*), sum(length(t::text)), md5(string_agg(md5(t::text), \'\' order by id)) from t t;';

$node->safe_psql('postgres', <<'SQL');
create schema h;
create schema z;
create function noise(seed int, len int) returns text language sql immutable as $$
	select left(string_agg(md5(seed || '/' || g), ''), len) from generate_series(1, len / 32 + 1) g
$$;
-- a statement with one parameter, for each of these: what became of it
create function attempts(statement text, first int, last int) returns table (n int, result text) language plpgsql as $$
declare message text;
begin
	for i in first .. last loop
		n := i;
		begin
			execute statement using i;
			result := 'ok';
		exception when others then
			get stacked diagnostics message = message_text;
			result := sqlstate || ' ' || message;
		end;
		return next;
	end loop;
end $$;
SQL

# ---- each length, by several shapes of rows ----

sub lengths
{
	my ($what, $columns, $statement, $first, $last, $more) = @_;
	my %results;

	foreach my $schema ('h', 'z')
	{
		my $am = $schema eq 'h' ? 'heap' : 'zheap';

		$node->safe_psql('postgres', "set search_path = $schema, public; drop table if exists t; create table t ($columns) using $am;" .
			"do \$\$ declare c name; begin for c in select attname from pg_attribute where attrelid = 't'::regclass and attnum > 0 and atttypid = 'text'::regtype loop
			execute format('alter table t alter %I set storage plain', c); end loop; end \$\$;");
		my $out = $node->safe_psql('postgres', "set search_path = $schema, public; select n || ' ' || result from attempts(\$\$$statement\$\$, $first, $last)");
		$results{$schema} = { map { split / /, $_, 2 } split /\n/, $out };
	}
	my ($ok, @lost, @odd, @more) = (0);
	foreach my $n ($first .. $last)
	{
		my ($h, $z) = map { $results{$_}{$n} } 'h', 'z';

		$ok++ if $h eq 'ok' && $z eq 'ok';
		push @lost, "$n: $z" if $h eq 'ok' && $z ne 'ok';
		push @more, $n if $h ne 'ok' && $z eq 'ok';
		push @odd, "$n: $z" if $z ne 'ok' && $z !~ /^54000 row is too big: size \d+, maximum size $longest$/;
		push @odd, "$n: $h" if $h ne 'ok' && $h !~ /^54000 row is too big: size \d+, maximum size 8160$/;
	}
	is("@lost", '', "$what: what heap takes is taken");
	is("@odd", '', "$what: the same class of errors, and a message like heap's");
	cmp_ok($ok, '>', 0, "$what: $ok are taken by both");
	cmp_ok(scalar(@more), '<=', $more, "$what: few more than by heap") or diag("@more");
	isnt($results{z}{$last}, 'ok', "$what: the largest is refused") if defined $results{h}{$last} && $results{h}{$last} ne 'ok';
	$node->safe_psql('postgres', "delete from z.t where id in (" . join(', ', @more) . ")") if @more;
	both($all, "$what: the rows are there");
	return;
}

lengths('text', 'a text, id int generated always as (length(a)) stored', 'insert into t (a) values (noise($1, $1))', 7900, 8200, 4);
lengths('text and nulls', 'id int, x int, a text, y int8', 'insert into t values ($1, null, noise($1, $1), null)', 7900, 8200, 4);
lengths('nine columns', 'id int, a text, c1 int, c2 int, c3 int, c4 int, c5 int, c6 int, c7 int', 'insert into t values ($1, noise($1, $1))', 8080, 8160, 8);
lengths('two texts', 'id int, a text, b text', 'insert into t values ($1, noise($1, 4000), noise($1, $1 - 4000))', 8080, 8160, 4);
lengths('1,600 columns, bool', 'id int, a text, ' . join(', ', map { "b$_ bool" } 1 .. 1598),
	'insert into t select $1, noise($1, $1), ' . join(', ', map { $_ % 3 ? 'true' : 'null' } 1 .. 1598), 6800, 6900, 8);
lengths('1,600 columns, int8 or null', 'id int8, ' . join(', ', map { "n$_ int8" } 1 .. 1599),
	'insert into t (' . join(', ', 'id', map { "n$_" } 1 .. 980) . ') values ($1' . ', 7' x 980 . ')', 1, 3, 0);
# numbers of int8 columns, by the table
foreach my $n (1016, 1017, 1018)
{
	$node->safe_psql('postgres', "drop table if exists h.t, z.t; create table h.t (id int8, " . join(', ', map { "n$_ int8" } 2 .. $n) . ');
		create table z.t (like h.t) using zheap');
	both('insert into t values (' . join(', ', 1 .. $n) . '); insert into t values (' . join(', ', 2 .. $n + 1) . "); update t set n$n = 0; $all", "$n columns of int8");
}
foreach my $n (991, 992, 993)
{
	$node->safe_psql('postgres', "drop table if exists h.t, z.t; create table h.t (id int8, " . join(', ', map { "n$_ int8" } 2 .. 1600) . ');
		create table z.t (like h.t) using zheap');
	both('insert into t (' . join(', ', 'id', map { "n$_" } 2 .. $n) . ') values (' . join(', ', 1 .. $n) . "); update t set n1600 = 1, n2 = null; update t set n1599 = 2; $all",
		"1,600 columns, $n of them with a value");
}
# values without a toastable type; main and external ones where heap leaves them inline up to the page's size
$node->safe_psql('postgres', 'drop table if exists h.t, z.t; create table h.t (id int, m text); alter table h.t alter m set storage main;
	create table z.t (like h.t including storage) using zheap');
both('select n, result from attempts($$insert into t values ($1, noise($1, $1))$$, 8100, 8200) where result <> $$ok$$;' . $all .
	'select sum(pg_column_size(m)), count(*) filter (where pg_column_size(m) = length(m) + 4) from t;', 'main: inline up to the size of a page');

# ---- twin tables of long rows ----

sub create
{
	my ($options) = @_;

	foreach my $schema ('h', 'z')
	{
		my $am = $schema eq 'h' ? 'heap' : 'zheap';

		$node->safe_psql('postgres', "set search_path = $schema; drop table if exists t; create table t (id int, a text) using $am $options;
			alter table t alter a set storage plain; alter table t add primary key (id);");
	}
	return;
}

# lengths near the limit, where a page has 4 slots, 3, 2, 1 and none; 8128 is the longest text beside an int on heap
my $longs = 'select g, noise(g, 8128 - (g * 7) % 90) from generate_series(1, 60) g';
create('');
both("insert into t $longs; $all", 'many rows by one statement');
cmp_ok($node->safe_psql('postgres', "select pg_relation_size('z.t') / 8192"), '<=', 60 + 60 / 6, 'a page for each, and another for few of them');
both("update t set a = noise(id + 1000, length(a)); $all update t set a = left(a, 100) where id % 2 = 0; $all update t set a = noise(id, 8128) where id % 3 = 0; $all",
	'updates to the same length, shorter, longer');
both("begin; update t set a = noise(id, 8128); update t set a = 'x'; update t set a = noise(id, 8120); delete from t where id % 5 = 0; insert into t select id + 100, a from t; $all rollback; $all",
	'rolled back');
both("begin; savepoint s; update t set a = noise(id, 8128); rollback to s; update t set a = noise(id + 1, 8127) where id < 20; savepoint u; delete from t where id < 10; release u; commit; $all",
	'savepoints');
both("update t set id = id + 1000 where id > 50; delete from t where id % 7 = 0; $all", 'keys, deletions');
both("insert into t values (1, noise(1, 8128)) on conflict (id) do update set a = noise(7, 8128); insert into t values (5000, noise(1, 8128)) on conflict (id) do nothing; $all", 'ON CONFLICT');

# COPY
my $file = $node->basedir . '/rows';
$node->safe_psql('postgres', "copy (select g, noise(g, 8128 - g % 40) from generate_series(10001, 10200) g) to '$file'");
both("copy t from '$file'; $all", 'COPY');
$node->safe_psql('postgres', "copy (select g, noise(g, case when g % 4 = 0 then 8128 else g % 300 end) from generate_series(20001, 20200) g) to '$file'");
both("copy t from '$file'; $all begin; truncate t; copy t from '$file' with (freeze); commit; $all", 'COPY of long and short ones, frozen');
both("update t set a = noise(id, 8128 - id % 30) where id % 3 = 0; update t set a = noise(id + 1, length(a)); $all", 'frozen ones are updated');

# emptied pages are found by the next ones
create('');
both("insert into t select g, noise(g, 8128) from generate_series(1, 50) g; delete from t; vacuum (truncate off) t", 'emptied');
my $size = $node->safe_psql('postgres', "select pg_relation_size('z.t')");
both("insert into t select g, noise(g, 8128) from generate_series(1, 45) g; $all", 'and filled again');
is($node->safe_psql('postgres', "select pg_relation_size('z.t')"), $size, 'in the same pages');
both("delete from t; vacuum (truncate off) t; insert into t select g, noise(g, 100) from generate_series(1, 2000) g; $all update t set a = noise(id + 1, 100); $all", 'short rows in their place');
is($node->safe_psql('postgres', "select pg_relation_size('z.t')"), $size, 'also in the same pages');

# pages that have got many slots give them up for a long row
$node->safe_psql('postgres', q{set zheap.initial_slots = 31; create table z.many (id int, a text) using zheap with (autovacuum_enabled = off);
	alter table z.many alter a set storage plain; create index on z.many (id); insert into z.many select g, repeat('s', 300) from generate_series(1, 1000) g});
$size = $node->safe_psql('postgres', "select pg_relation_size('z.many')");
my $hold = $node->background_psql('postgres');
$hold->query_safe("begin isolation level repeatable read; select 1");
my $id = $hold->query_safe('select pg_export_snapshot()');
$node->safe_psql('postgres', $_) foreach 'delete from z.many', 'vacuum (truncate off) z.many', "insert into z.many select g, repeat('t', 8119) from generate_series(1, 20) g";
is($node->safe_psql('postgres', "begin isolation level repeatable read; set transaction snapshot '$id'; select count(*), max(a) = repeat('s', 300) from z.many; commit"), '1000|t',
	'not while a snapshot needs what was there');
cmp_ok($node->safe_psql('postgres', "select pg_relation_size('z.many')"), '>', $size, 'so the table has grown');
$hold->quit;
# the session's snapshot may last a moment longer; then the horizon passes what VACUUM has done
ok(wait_until(sub {
	$node->safe_psql('postgres', $_) foreach 'delete from z.many', 'vacuum (truncate off) z.many', 'select pg_current_xact_id()', 'vacuum zheap.undo',
	  'vacuum (truncate off) z.many';
	$size = $node->safe_psql('postgres', "select pg_relation_size('z.many')");
	$node->safe_psql('postgres', "insert into z.many select g, repeat('t', 8119) from generate_series(1, $size / 8192) g");
	return $node->safe_psql('postgres', "select pg_relation_size('z.many')") == $size;
}), 'afterwards they are used, each for a row');
foreach my $off ('indexscan', 'seqscan')
{
	is($node->safe_psql('postgres', "set enable_$off = off; select count(*), count(*) filter (where a = repeat('t', 8119)), max(id) from z.many where id > 0"),
		join('|', ($size / 8192) x 3), "all rows are there, $off off");
}
$node->safe_psql('postgres', 'drop table z.many');

# tables that write no WAL
foreach my $kind ('temporary', 'unlogged')
{
	both("create $kind table other (id int, a text); alter table other alter a set storage plain; insert into other $longs;
		begin; update other set a = noise(id + 1, 8128); delete from other where id > 50; insert into other select id + 100, a from other; rollback;
		update other set a = noise(id + 2, 8100 + id % 28); delete from other where id % 10 = 0; vacuum other; insert into other values (100, noise(1, 8128));
		vacuum full other; " . ($all =~ s/from t t/from other t/r) . ' drop table other', "a $kind table");
}

# ---- locks ----

create('');
both("insert into t select g, noise(g, 8128) from generate_series(1, 4) g; $all", 'rows to be locked');
foreach my $schema ('h', 'z')
{
	my @holders;
	my @log;

	foreach my $i (1 .. 8)
	{
		my $holder = $node->background_psql('postgres', on_error_stop => 0);

		$holder->query_safe("set search_path = $schema, public; begin");
		$holder->query_safe('select id from t where id = ' . ($i % 2 + 1) . ' for ' . ($i % 2 ? 'key share' : 'share'));
		push @holders, $holder;
	}
	push @log, told($schema, $_) foreach
	  "set lock_timeout = '1s'; update t set a = noise(9, 8128) where id = 1; select md5(a) from t where id = 1",
	  "set lock_timeout = '1s'; update t set a = noise(8, 8127) where id = 2; select md5(a) from t where id = 2",
	  "set lock_timeout = '1s'; update t set a = noise(7, 8128) where id = 2; select md5(a) from t where id = 2",
	  "set lock_timeout = '1s'; delete from t where id = 2; select count(*) from t",
	  'select id from t for key share skip locked', 'select id from t for share skip locked', 'select id from t for update skip locked';
	$_->query_safe('rollback'), $_->quit foreach @holders;
	push @log, told($schema, "delete from t where id < 3; $all");
	$node->{log}{$schema} = join "\n", @log;
}
is($node->{log}{z}, $node->{log}{h}, 'locks by many sessions on long rows');

# ---- many sessions extend the table at once ----

my $script = $node->basedir . '/crowd.sql';
append_to_file($script, <<'SQL');
insert into z.crowd values (nextval('crowd_ids'), repeat('i', 8128));
begin;
insert into z.crowd values (-1, repeat('r', 8128)), (-2, repeat('r', 8100)), (-3, 'r');
update z.crowd set a = repeat('r', 8127) where id = currval('crowd_ids');
rollback;
update z.crowd set a = repeat('u', 8128) where id = currval('crowd_ids');
insert into z.crowd values (0, repeat('d', 8128));
delete from z.crowd where id = 0;
SQL
$node->safe_psql('postgres', 'create sequence crowd_ids; create table z.crowd (id int, a text) using zheap; alter table z.crowd alter a set storage plain; create index on z.crowd (id)');
foreach my $round (1 .. 2)
{
	my $run = pgbench_start($node, '-c', 8, '-j', 2, '-t', short() ? 10 : 40, '-f', $script);

	$node->safe_psql('postgres', 'vacuum z.crowd') for 1 .. 5;
	my ($rc, undef, $err) = pgbench_finish($run);
	is($rc, 0, "many sessions, round $round") or diag($err);
	my $n = $round * 8 * (short() ? 10 : 40);
	is($node->safe_psql('postgres', q{select count(*), count(distinct id), min(id), max(id), count(*) filter (where a = repeat('u', 8128)) from z.crowd}),
		"$n|$n|1|$n|$n", 'all their rows are there, and no others');
}
$node->safe_psql('postgres', 'drop table z.crowd');

# ---- old snapshots, rewritten tables ----

my $others = 'select count(*), md5(string_agg(md5(t::text), \'\' order by id)) from z.t t';

# What a snapshot reads: in a transaction of its own each time, so that nobody holds a lock on the table in between.
sub look
{
	my ($id) = @_;

	return $node->safe_psql('postgres', "begin isolation level repeatable read; set transaction snapshot '$id'; $others; commit");
}

sub snapshot
{
	my $session = $node->background_psql('postgres');

	$session->query_safe('begin isolation level repeatable read');
	my $id = $session->query_safe('select pg_export_snapshot()');
	return [ $session, $id, look($id) ];
}
create('');
both("insert into t $longs; $all", 'rows for old snapshots');
my @snapshots = snapshot();
foreach my $statement (
	"update t set a = noise(id + 100, length(a)); $all",
	"update t set a = noise(id + 200, 8128) where id % 2 = 0; delete from t where id % 5 = 0; insert into t select g, noise(g, 8128) from generate_series(101, 110) g; $all",
	"vacuum t; update t set a = left(a, 8100) || id; $all", "vacuum full t; $all", "update t set a = noise(id + 300, length(a)); $all",
	"cluster t using t_pkey; $all", "begin; update t set a = noise(id + 400, 8128); vacuum t; rollback; $all", "vacuum full t; $all")
{
	both($statement, $statement =~ s/;.*//r);
	is(look($_->[1]), $_->[2], 'an old snapshot reads what it read') foreach @snapshots;
	push @snapshots, snapshot();
}
$_->[0]->quit foreach @snapshots;
both("vacuum full t; $all cluster t; $all", 'rewritten without old snapshots');

# ---- dump and restore ----

$node->run_log([ 'createdb', '-h', $node->host, '-p', $node->port, 'restored' ]);
command_ok([ 'pg_dump', '-h', $node->host, '-p', $node->port, '-f', "$file.sql", 'postgres' ], 'pg_dump');
command_ok([ 'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-h', $node->host, '-p', $node->port, '-q', '-f', "$file.sql", 'restored' ], 'restored');
is($node->safe_psql('restored', $others), $node->safe_psql('postgres', $others), 'the same rows');

# ---- standby, and crashes: every page is compared by wal_consistency_checking ----

my $standby = new_standby($node, 'standby');
caught_up($node, $standby);
both("update t set a = noise(id + 500, 8128); insert into t select g, noise(g, 8128) from generate_series(201, 230) g; delete from t where id % 9 = 0; $all", 'with a standby');
caught_up($node, $standby);
is($standby->safe_psql('postgres', $others), $node->safe_psql('postgres', $others), 'the standby has them');
my $before = $node->safe_psql('postgres', $others);
my $session = $node->background_psql('postgres');
$session->query_safe('begin; update z.t set a = noise(id + 600, 8128 - id % 50); insert into z.t select g, noise(g, 8128) from generate_series(301, 330) g; delete from z.t where id < 20');
caught_up($node, $standby);
is($standby->safe_psql('postgres', $others), $before, 'the standby, while all of it changes');
$node->safe_psql('postgres', 'create table h.flush (n int)');
crash($node);
eval { $session->quit };
$node->append_conf('postgresql.conf', 'zheap.undo_workers = 2');
$node->start;
is($node->safe_psql('postgres', $others), $before, 'after the crash');
wait_undone($node, 'a worker rolls back');
is($node->safe_psql('postgres', $others), $before, 'and nothing else shows');
both("vacuum t; update t set a = noise(id + 700, 8128); $all", 'and so it goes on');
caught_up($node, $standby);
is($standby->safe_psql('postgres', $others), $node->safe_psql('postgres', $others), 'the standby at the end');
$standby->stop;

# ---- fillfactor, toast_tuple_target ----

foreach my $fillfactor (10, 30, 50, 70, 90, 100)
{
	create("with (fillfactor = $fillfactor)");
	both("insert into t select g, noise(g, case g % 4 when 0 then 8128 when 1 then 10 when 2 then 7000 else 3000 end) from generate_series(1, 40) g;
		update t set a = noise(id + 1, 8128 - id) where id % 4 = 1; update t set a = 'x' where id % 4 = 0; vacuum t; insert into t select g, noise(g, 8120) from generate_series(101, 120) g; $all",
		"fillfactor $fillfactor");
}
# where values begin to be toasted
$node->safe_psql('postgres', 'drop table if exists h.t, z.t; create table h.t (id int, a text); create table z.t (id int, a text) using zheap');
both("insert into t select g, noise(g, g) from generate_series(1900, 2100) g; insert into t select -g, repeat('abcd', g / 4) from generate_series(1900, 2100) g; $all
	select id, pg_column_size(a) from t order by id", 'the same values are compressed and toasted');
foreach my $target (128, 1000, 2032, 4080, 8160)
{
	$node->safe_psql('postgres', "drop table if exists h.t, z.t; create table h.t (id int, a text, b text) with (toast_tuple_target = $target);
		create table z.t (id int, a text, b text) using zheap with (toast_tuple_target = $target)");
	both("insert into t select g, noise(g, g * 97), noise(g + 1, g * 13) from generate_series(1, 120) g; $all
		select id, pg_column_size(a), pg_column_size(b) from t order by id;
		update t set b = noise(id, 500); update t set a = noise(id + 5, length(a) + 50) where id % 2 = 0; $all
		select id, pg_column_size(a), pg_column_size(b) from t order by id;
		insert into t select 1000 + g, repeat('ab', g * 97), repeat('cd', g * 13) from generate_series(1, 120) g;
		select id, pg_column_size(a), pg_column_size(b) from t where id > 1000 order by id;", "toast_tuple_target $target");
}
no_crash_in_log($node, 'in the end');
$node->stop;
done_testing();
