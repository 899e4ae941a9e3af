# Logical decoding: the same statements on heap tables and on zheap tables give the same output, whatever the replica identity, with
# one plugin or another, with two-phase transactions and streaming, after a crash.  Without wal_level = logical WAL has nothing of it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

seed();
my $transactions = short() ? 150 : 600;
our $node = new_server('decoding', [ 'max_prepared_transactions = 10', 'logical_decoding_work_mem = 64kB', 'wal_keep_size = 1GB',
		# its changes of catalogs would count for what is streamed
		'autovacuum = off', 'max_wal_size = 2GB', 'wal_consistency_checking = all', 'max_replication_slots = 20', 'zheap.undo_worker_naptime = 10ms' ],
	allows_streaming => 'logical');
my $has_wal2json = -e $node->config_data('--pkglibdir') . '/wal2json.so';
my @tables = qw(by_key by_index by_all by_none parted);
my %changes = (
	plain => "'include-xids', '0', 'skip-empty-xacts', '1'",
	prepared => "'include-xids', '0', 'skip-empty-xacts', '1'",
	streamed => "'include-xids', '0', 'skip-empty-xacts', '1', 'stream-changes', '1'",
	local => "'include-xids', '0', 'skip-empty-xacts', '1', 'only-local', '1'",
	rewrites => "'include-xids', '0', 'skip-empty-xacts', '1', 'include-rewrites', '1'");

sub tables
{
	my $sql = '';

	foreach my $table (@tables)
	{
		my $parts = $table eq 'parted' ? ' partition by list (part)' : '';

		$sql .= "create table $table (gone text default 'gone', id int, key text not null, n int, part int not null default 0, "
		  . "long text, compressed text, x int2, d float8)$parts;\n";
		$sql .= "create table parted_$_ partition of parted for values in ($_);\n" foreach $parts ? (0, 1) : ();
		$sql .= join("\n",
			"alter table $table alter key set storage external;",
			"alter table $table alter long set storage external;",
			'insert into ' . $table . " (id, key) values (-1, 'before');",
			"alter table $table drop gone;",
			"alter table $table add added text default 'added';",
			$parts ? "alter table $table add primary key (id, part);" : "alter table $table add primary key (id);",
			"create index on $table (n);",
			$parts ? '' : "create unique index ${table}_key on $table (key);") . "\n";
	}
	return $sql . <<'SQL';
alter table by_index replica identity using index by_index_key;
alter table by_all replica identity full;
alter table by_none replica identity nothing;
alter table parted_0 replica identity full;
SQL
}

# ---- random statements ----

my $ids = 0;
my $prepared = 0;

sub some { my (@of) = @_; return $of[ int(rand(@of)) ]; }
sub id { return 1 + int(rand($ids + 1)); }

# Far from where one access method would toast a value and the other would not.
sub value
{
	return some('null', "'short'", "repeat(md5('" . int(rand(1e6)) . "'), " . some(2, 3, 150, 300) . ')');
}

sub key
{
	return "'key " . $ids . ' ' . int(rand(1e9)) . "'" . (rand() < 0.1 ? " || repeat(md5('" . int(rand(1e6)) . "'), 75)" : '');
}

sub row
{
	$ids++;
	return "($ids, " . key() . ', ' . int(rand(10)) . ', ' . some(0, 1) . ', ' . value() . ", repeat('a', " . some(1, 5000) . '), 1, 0.5)';
}

sub rows
{
	my $rows = join(', ', map { row() } 1 .. shift);

	return "(id, key, n, part, long, compressed, x, d) values $rows";
}

sub copied
{
	my ($table) = @_;
	my $lines = '';

	foreach (1 .. 1 + int(rand(40)))
	{
		$ids++;
		my $long = some('\N', 'short', 'long' x 1000);

		$lines .= join("\t", $ids, "copied $ids", int(rand(10)), some(0, 1), $long) . "\n";
	}
	return "copy $table (id, key, n, part, long) from stdin;\n$lines\\.\n";
}

sub range
{
	my $id = id();

	return "id between $id and " . ($id + int(rand(some(1, 5, 60))));
}

sub statement
{
	my ($table) = @_;
	my $where = some('id = ' . id(), 'id = ' . id(), range());
	my $conflict = $table eq 'parted' ? 'id, part' : 'id';
	my @ways = (
		sub { return "insert into $table " . rows(some(1, 1, 1, 5)) . ';' },
		sub { return "insert into $table (id, key) select g, 'from ' || g from generate_series(" . ($ids + 1) . ', ' . ($ids += 30) . ') g;' },
		sub { return copied($table) },
		sub { return "update $table set n = n + 1 where $where;" },
		sub { return "update $table set x = -x, d = d * 2 where $where;" },
		sub { return "update $table set long = " . value() . " where $where;" },
		sub { return "update $table set compressed = repeat('b', " . some(1, 300, 5000) . "), n = n + 1 where $where;" },
		sub { return "update $table set key = " . key() . ' where id = ' . id() . ';' },
		sub { return "update $table set id = -id - " . int(rand(1e8)) . ' where id = ' . id() . ';' },
		sub { return "update $table set part = 1 - part where $where;" },
		sub { return "update $table set key = key, id = id where $where;" },
		sub { return "delete from $table where $where;" },
		sub { return "delete from $table where id = " . id() . ' returning id;' },
		sub { my $id = id(); return "insert into $table (id, key, long) values ($id, 'conflict $id', " . value()
			  . ") on conflict ($conflict) do update set n = 0, long = excluded.long;" },
		sub { my $id = id(); return "insert into $table (id, key) values ($id, 'nothing $id') on conflict do nothing;" },
		sub { return "select count(*) from (select 1 from $table where $where for update) s;" },
		sub { return rand() < 0.1 ? "truncate $table;" : '' });

	return some(@ways)->() . "\n";
}

sub transaction
{
	my $sql = "begin;\n";
	my $open = 0;

	foreach (1 .. some(1, 2, 5, 10))
	{
		my $what = int(rand(10));

		if ($what == 0) { $sql .= "savepoint s;\n"; $open++; }
		elsif ($what == 1 && $open) { $sql .= "rollback to s;\n"; }
		elsif ($what == 2 && $open) { $sql .= "release s;\n"; $open--; }
		else { $sql .= statement(some(@tables)); }
	}
	my $end = int(rand(10));

	return $sql . "rollback;\n" if $end == 0;
	return $sql . "commit;\n" if $end > 2;
	$prepared++;
	return $sql . "prepare transaction 'p$prepared';\n" . some('commit', 'commit', 'rollback') . " prepared 'p$prepared';\n";
}

# What else can be done to a table.
my $rewrites = <<'SQL';
create table made as select id, key, long from by_key where id > 0 order by id;
create materialized view seen as select id, key, long from by_key where id > 0 order by id;
refresh materialized view seen;
vacuum full by_key;
cluster by_all using by_all_pkey;
alter table by_index alter x type int4;
alter table by_index add more int default 7;
update by_index set n = 1 where id between 1 and 50;
begin;
alter table by_none add same text;
update by_none set same = 'same', n = -1 where id between 1 and 20;
alter table by_none drop d;
insert into by_none (id, key) values (-2, 'dropped');
delete from by_none where id = -2;
insert into by_key (id, key, long) select -6, 'toasted', string_agg(md5(g::text), '') from generate_series(1, 300) g;
update by_key set n = 4 where id = -6;
commit;
begin;
create table new (id int primary key, long text);
copy new from stdin with (freeze);
1	a
2	b
\.
update new set long = 'c';
commit;
truncate new;
create unlogged table unlogged (id int);
insert into unlogged values (1);
create temp table temporary (id int);
insert into temporary values (1);
select pg_replication_origin_session_setup('elsewhere');
insert into by_key (id, key) values (-3, 'elsewhere');
insert into by_key (id, key) values (-3, 'elsewhere') on conflict (id) do update set key = 'elsewhere too';
copy by_all (id, key) from stdin;
-4	elsewhere
-5	elsewhere
\.
update by_all set n = 3 where id = -4;
delete from by_key where id = -3;
select pg_replication_origin_session_reset();
SQL

sub run
{
	my ($schema, $sql) = @_;
	my $am = $schema eq 'on_heap' ? 'heap' : 'zheap';
	my ($rc, $out, $err) = $node->psql('postgres', <<"SQL" . $sql, on_error_stop => 0);
set search_path = $schema;
set default_table_access_method = $am;
set enable_seqscan = off;
set enable_bitmapscan = off;
set client_min_messages = error;
SQL

	$err =~ s/\b$schema\./s./g;
	return ($out, $err);
}

sub decoded
{
	my ($schema, $slot) = @_;
	my $out = $node->safe_psql('postgres', $slot eq 'wal2json'
		? "select data from pg_logical_slot_get_changes('wal2json', null, null, 'pretty-print', '1')"
		: "select data from pg_logical_slot_get_changes('$slot', null, null, $changes{$slot})");

	$out =~ s/\b$schema\b/s/g;
	# transactions without changes, of DDL
	$out =~ s/^\{\s*"change": \[\s*\]\s*\}\n?//mg if $slot eq 'wal2json';
	return $out;
}

sub excerpt
{
	my ($i, @lines) = @_;

	return join("\n", map { substr($lines[$_] // 'end', 0, 500) } ($i > 3 ? $i - 3 : 0) .. $i + 1);
}

sub is_same_text
{
	my ($got, $expected, $what) = @_;
	my @got = split /\n/, $got;
	my @expected = split /\n/, $expected;
	my $i = 0;

	$i++ while $i < @got && $i < @expected && $got[$i] eq $expected[$i];
	my $same = $i == @got && $i == @expected;
	ok($same, "$what: " . @expected . ' lines');
	diag("line $i\nheap:  " . excerpt($i, @expected) . "\nzheap: " . excerpt($i, @got)) unless $same;
	return;
}

my @slots = sort keys %changes;
foreach my $slot (@slots)
{
	$node->safe_psql('postgres', "select pg_create_logical_replication_slot('$slot', 'test_decoding', false, " . ($slot eq 'prepared' ? 'true' : 'false') . ')');
}
if ($has_wal2json)
{
	# newer minor releases ask which plugins are trusted
	set_and_reload($node, "output_plugin_libraries = 'pgoutput, test_decoding, wal2json'")
	  if $node->safe_psql('postgres', "select count(*) from pg_settings where name = 'output_plugin_libraries'") > 0;
	push @slots, 'wal2json';
	$node->safe_psql('postgres', "select pg_create_logical_replication_slot('wal2json', 'wal2json')");
}
$node->safe_psql('postgres', "create extension pg_walinspect; select pg_replication_origin_create('elsewhere')");

my @parts = (tables(), '', $rewrites, '');
$parts[1] .= transaction() foreach 1 .. $transactions / 2;
$parts[3] .= transaction() foreach 1 .. $transactions / 2;
my %output;
my $begin;
foreach my $schema (qw(on_heap on_zheap))
{
	$node->safe_psql('postgres', "create schema $schema");
	$begin = $node->lsn('insert');
	my @results;
	foreach my $part (@parts)
	{
		push @results, run($schema, $part);
		if ($part eq $parts[1])
		{
			crash($node);
			start_again($node);
		}
		foreach my $slot (@slots)
		{
			my $decoded = decoded($schema, $slot);

			# a rewritten table's rows, which are dropped, come in another order, and so does what is streamed
			$output{$schema}{$slot} .= "$decoded\n" unless $slot eq 'streamed' && $part eq $rewrites;
		}
		# where slots have got to outlasts a crash from now on
		$node->safe_psql('postgres', 'checkpoint');
	}
	$output{$schema}{statements} = join('', @results);
}
is($node->safe_psql('postgres', "select count(*) from pg_class c join pg_am a on a.oid = relam where relnamespace = 'on_zheap'::regnamespace and amname = 'zheap'") > 8,
	1, 'there are zheap tables');
is_same_text($output{on_zheap}{$_}, $output{on_heap}{$_}, $_) foreach ('statements', grep { $_ ne 'rewrites' } @slots);
# a rewritten table's rows come as they lay in the old one
is_same_text((map { join("\n", sort split /\n/, $output{$_}{rewrites}) } qw(on_zheap on_heap)), 'rewrites');
like($output{on_zheap}{plain}, qr/$_/, "there is: $_") foreach ('UPDATE: old-key', 'no-tuple-data', 'unchanged-toast-datum', 'TRUNCATE', 'DELETE');
like($output{on_zheap}{prepared}, qr/PREPARE TRANSACTION/, 'transactions are decoded when they are prepared');
like($output{on_zheap}{streamed}, qr/opening a streamed block/, 'large transactions are streamed');
unlike($output{on_zheap}{local}, qr/elsewhere/, 'changes of another origin are left out');
cmp_ok(length($output{on_zheap}{rewrites}), '>', length($output{on_zheap}{plain}), 'rows of a rewritten table, where that is asked for');

# What is there now is the same as well.
foreach my $table (@tables)
{
	my ($heap, $zheap) = map { $node->safe_psql('postgres', "select t from $_.$table t order by id, key") } qw(on_heap on_zheap);

	is_same_text($zheap, $heap, "contents of $table");
}

# ---- an insertion in doubt that is taken back ----

foreach my $schema (qw(on_heap on_zheap))
{
	my $am = $schema eq 'on_heap' ? 'heap' : 'zheap';

	$node->safe_psql('postgres', <<"SQL");
set search_path = $schema;
set default_table_access_method = $am;
create sequence calls;
create function gate(text) returns text immutable language plpgsql as \$\$
begin
	if current_setting('application_name') = 'waits' and nextval('$schema.calls') = 3 then
		perform pg_advisory_lock(1);
	end if;
	return \$1;
end \$\$;
create table doubt (id int primary key, key text, long text);
alter table doubt alter long set storage external;
create unique index on doubt ($schema.gate(key));
SQL
	my $gate = $node->background_psql('postgres');
	my $first = $node->background_psql('postgres');

	$gate->query_safe('select pg_advisory_lock(1)');
	$first->query_safe("set application_name = 'waits'");
	$first->query_until(qr/begun/, "\\echo begun\nbegin; insert into $schema.doubt values (0, 'other', repeat('x', 4000)); "
		. "insert into $schema.doubt values (1, 'a', repeat('y', 4000)) on conflict ($schema.gate(key)) do update set long = repeat('z', 4000) || doubt.id; commit;\n");
	$node->poll_query_until('postgres', "select count(*) = 1 from pg_locks where locktype = 'advisory' and not granted") or die;
	$node->safe_psql('postgres', "insert into $schema.doubt values (2, 'a', 'won')");
	$gate->quit;
	$first->quit;
	$output{$schema}{doubt} = $node->safe_psql('postgres', "select id, key, left(long, 1) from $schema.doubt order by id");
	foreach my $slot (@slots)
	{
		$output{$schema}{"doubt $slot"} = decoded($schema, $slot);
	}
}
is($output{on_zheap}{$_}, $output{on_heap}{$_}, $_) foreach ('doubt', map { "doubt $_" } @slots);

# ---- WAL ----

# Records of which the description has the text, from $begin on.
sub records
{
	my ($server, $from, $text) = @_;

	$server->safe_psql('postgres', "select pg_switch_wal()");
	return $server->safe_psql('postgres',
		"select count(*) from pg_get_wal_records_info('$from', pg_current_wal_flush_lsn()) where resource_manager = 'zheap' and description like '%$text%'");
}

foreach my $kind ('insert', 'update', 'update with old', 'delete', 'delete with old', 'speculative insert', 'confirm', 'take back')
{
	cmp_ok(records($node, $begin, "logical: $kind,"), '>', 0, "there are WAL records of kind $kind");
}

my $other = new_server('replica', [ 'max_prepared_transactions = 10' ], allows_streaming => 1);
$other->safe_psql('postgres', "create extension pg_walinspect; create schema on_zheap");
$begin = $other->lsn('insert');
{
	local $node = $other;
	run('on_zheap', tables() . join('', map { transaction() } 1 .. 100));
}
cmp_ok(records($other, $begin, ''), '>', 100, 'WAL of wal_level = replica');
is(records($other, $begin, 'logical:'), 0, 'has nothing for decoding');

no_crash_in_log($_, $_->name) foreach ($node, $other);
done_testing();
