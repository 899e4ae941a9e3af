# A superuser who runs commands on the undo relation gets a clear error or nothing happens; tables stay what they are.
# Undo of aborted transactions and of an old snapshot is there all the time, and is read after each command.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('undorel', [ 'max_worker_processes = 0', 'autovacuum = off', "lock_timeout = '10s'" ]);
my $dir = PostgreSQL::Test::Utils::tempdir();
mkdir "$dir/ts" or die $!;
$node->safe_psql('postgres', "create tablespace ts location '$dir/ts'; create role someone;");
$node->safe_psql('postgres', <<'SQL');
create table t (id int primary key, n int, v text) using zheap;
insert into t select g, g, 'v' || g from generate_series(1, 2000) g;
create table log (id serial) using zheap;
SQL
my $original = table_digest($node, 't');
my $oid = $node->safe_psql('postgres', "select 'zheap.undo'::regclass::oid");

# an old snapshot that needs undo; its session has no lock on the undo relation
my $old = $node->background_psql('postgres');
$old->query_safe('begin isolation level repeatable read');
my $snapshot = $old->query_safe('select pg_export_snapshot()');

sub changes
{
	$node->safe_psql('postgres', <<'SQL');
update t set n = n + 1 where id % 3 = 0;
begin; update t set v = 'gone', n = -1; rollback;
begin; delete from t where id < 500; insert into t select g, g, 'gone' from generate_series(3000, 3500) g; rollback;
SQL
	return;
}

# All that there is to see is as it was.
sub unharmed
{
	my ($what) = @_;
	my $expected = table_digest($node, 't');
	my $then = $node->safe_psql('postgres', "begin isolation level repeatable read; set transaction snapshot '$snapshot'; "
		  . "select count(*), md5(string_agg(md5(t::text), '' order by md5(t::text))) from t");

	is($then, $original, "$what: the old snapshot sees the old rows");
	changes();
	$node->safe_psql('postgres', 'update t set n = n - 1 where id % 3 = 0');
	is(table_digest($node, 't'), $expected, "$what: changed and changed back");
	return;
}

sub refused
{
	my ($statement, $state) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', "\\set VERBOSITY verbose\n$statement", on_error_stop => 1);

	isnt($rc, 0, "refused: $statement");
	like($err, qr/ERROR:  $state: /, 'a clear error');
	unlike($err, qr/could not|corrupt|damaged|server closed/, 'and no damage') or diag($err);
	return;
}

sub harmless
{
	my ($statement) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', $statement, on_error_stop => 1);

	is($rc, 0, "harmless: $statement");
	diag($err) if $rc;
	return;
}

changes();

# rows: there are none
harmless($_) foreach (
	'select from zheap.undo',
	'select from zheap.undo for update',
	'select ctid from zheap.undo where ctid = \'(0,1)\'',
	'select from zheap.undo where ctid > \'(0,1)\' and ctid < \'(9,1)\'',
	'select from zheap.undo tablesample system (100)',
	'table zheap.undo',
	'delete from zheap.undo',
	'merge into zheap.undo using (values (1)) v on true when matched then delete',
	'copy zheap.undo to stdout',
	'copy (select from zheap.undo) to stdout',
	'declare c cursor with hold for select from zheap.undo',
	'begin; create table x as select from zheap.undo; rollback',
	'begin; create materialized view x as select from zheap.undo; rollback',
	'select from t, zheap.undo',
	'set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0; select from zheap.undo');
is($node->safe_psql('postgres', 'select count(*) from zheap.undo'), 0, 'the undo relation has no rows');
refused($_, '0A000') foreach (
	'insert into zheap.undo default values',
	'merge into zheap.undo using (values (1)) v on true when not matched then insert default values',
	'begin; lock zheap.undo in share update exclusive mode; select from zheap.undo');
unharmed('after statements on rows');

# files
refused($_, '0A000') foreach (
	'truncate zheap.undo',
	'truncate zheap.undo, t',
	'begin; truncate zheap.undo',
	'alter table zheap.undo set unlogged',
	'alter table zheap.undo set access method heap',
	'alter table zheap.undo set access method zheap',
	'create table x () using zheap_undo',
	'create table x using zheap_undo as select 1 as a',
	'create temp table x () using zheap_undo',
	'create materialized view x using zheap_undo as select 1 as a',
	'create table x (a int) using heap; alter table x set access method zheap_undo',
	"create table pg_temp_$oid () using zheap_undo",
	'create index on zheap.undo ((1))',
	'create unique index on zheap.undo ((1))',
	'create index concurrently on zheap.undo ((1))');
$node->safe_psql('postgres', 'drop index if exists zheap.undo_expr_idx, zheap.undo_expr_idx1');
unharmed('after statements on files');

# parts of the relation
refused('alter table zheap.undo add column a int generated always as (1) stored', '0A000');
refused('alter table zheap.undo add column a serial', '0A000');
refused('create rule "_RETURN" as on select to zheap.undo do instead select', '(0A000|42P17|55000)');
refused('alter table zheap.undo add check (true)', '0A000');
refused('create table part (a int) partition by list (a); alter table part attach partition zheap.undo default', '[0-9A-Z]{5}');
$node->safe_psql('postgres', 'drop table if exists part');
refused('drop table zheap.undo', '2BP01');
refused('drop table zheap.undo cascade', '2BP01');
refused('drop schema zheap', '2BP01');
refused('drop access method zheap_undo cascade', '2BP01');
refused('cluster zheap.undo', '[0-9A-Z]{5}');
unharmed('after statements on parts');

harmless($_) foreach (
	'vacuum zheap.undo',
	'vacuum (freeze, analyze, verbose) zheap.undo',
	'vacuum (full) zheap.undo',
	'analyze zheap.undo',
	'reindex table zheap.undo',
	'begin; lock table zheap.undo; update t set n = n; rollback',
	'begin; lock table zheap.undo in share mode; update t set n = n; commit',
	"comment on table zheap.undo is 'comment'",
	'grant select on zheap.undo to someone; revoke all on zheap.undo from someone',
	'alter table zheap.undo owner to someone',
	'alter table zheap.undo owner to current_user',
	'alter table zheap.undo set (autovacuum_enabled = off)',
	'alter table zheap.undo set logged',
	'copy zheap.undo from stdin',
	'select pg_relation_size(\'zheap.undo\'), pg_table_size(\'zheap.undo\')',
	'create view undo_view as select from zheap.undo; drop view undo_view',
	'create publication undo_pub for table zheap.undo; drop publication undo_pub');
unharmed('after harmless statements');

# taken out of its extension first: not from under tables either
my $out_of = 'alter extension zheap drop table zheap.undo';
foreach my $statement ("$out_of; drop table zheap.undo", "$out_of; drop table zheap.undo cascade",
	"$out_of; savepoint s; drop table zheap.undo; savepoint r; release r",
	"$out_of; alter table zheap.undo set schema public; drop table undo",
	"$out_of; drop owned by owner cascade",
	'alter extension zheap drop access method zheap; alter extension zheap drop function zheap.zheap_tableam_handler(internal); drop extension zheap')
{
	$node->safe_psql('postgres', 'create role owner superuser; alter table zheap.undo owner to owner');
	refused("begin; $statement; commit", '2BP01');
	refused("begin; $statement; prepare transaction 'drop'", '2BP01');
	harmless("begin; $statement; rollback");
	my ($rc, $out, $err) = $node->psql('postgres', "begin; $statement; select count(*) from t; rollback");
	like($err, qr/ERROR:  this database has no undo relation/, 'tables cannot be used meanwhile');
	is($node->psql('postgres', "begin; savepoint s; $statement; rollback to s; update t set n = n; commit"), 0, 'a savepoint brings it back')
	  unless $statement =~ /savepoint/;
	$node->safe_psql('postgres', 'alter table zheap.undo owner to current_user; drop role owner');
	unharmed($statement);
}
refused("begin; $_; commit", '2BP01') foreach (
	'alter extension zheap drop access method zheap; drop access method zheap',
	'alter extension zheap drop access method zheap; drop extension zheap',
	"$out_of; drop extension zheap",
	"create access method other type table handler zheap.zheap_tableam_handler; create table o (a int) using other; drop table t, log; $out_of; drop table zheap.undo",
	'alter extension zheap drop access method zheap_undo; drop access method zheap_undo',
	'alter extension zheap drop function zheap.zheap_undo_handler(internal); drop function zheap.zheap_undo_handler(internal)');
refused('alter extension zheap set schema public', '0A000');
# nor under what the same transaction has written or may still read
refused("begin; $_; drop extension zheap cascade", '55006') foreach ('update t set n = n where id = 1', 'select count(*) from t');
unharmed('after a transaction that wanted to drop it');
# no harm in taking it out alone, nor in dropping all that there is
harmless("begin; $out_of; update t set n = n; alter extension zheap add table zheap.undo; rollback");
harmless("begin; $_; rollback") foreach ('drop extension zheap cascade', "$out_of; drop extension zheap cascade", 'drop schema zheap cascade', "drop table t, log; $out_of; drop table zheap.undo",
	'alter extension zheap drop access method zheap; drop access method zheap cascade');
unharmed('after other ways to drop it');

# who may do what
$node->safe_psql('postgres', 'grant usage on schema zheap to someone');
foreach my $statement ('begin; lock table zheap.undo', 'begin; lock table zheap.undo in access share mode', 'select from zheap.undo', 'truncate zheap.undo',
	'insert into zheap.undo default values', 'copy zheap.undo to stdout', 'copy zheap.undo from stdin', 'alter table zheap.undo rename to x', 'drop table zheap.undo',
	'create trigger x before insert on zheap.undo execute function suppress_redundant_updates_trigger()', 'create policy x on zheap.undo', 'cluster zheap.undo')
{
	refused("set role someone; $statement", '42501');
}
my (undef, undef, $skipped) = $node->psql('postgres', 'set role someone; vacuum zheap.undo');
like($skipped, pg_major() < 16 ? qr/WARNING:  skipping "undo"/ : qr/WARNING:  permission denied to vacuum "undo", skipping it/, 'others may not vacuum it');
$node->safe_psql('postgres', 'revoke usage on schema zheap from someone');
# a superuser's lock keeps nobody waiting, as nobody moves the relation: writers do not lock it
my $locker = $node->background_psql('postgres');
$locker->query_safe('begin');
$locker->query_safe('lock table zheap.undo');
$locker->query_safe('update t set n = n where id = 1');
harmless("set lock_timeout = '200ms'; update t set n = n where id = 2");
$locker->query_safe('commit');
$locker->quit;
unharmed('after locks');

# what only tables with rows have
refused($_, '0A000') foreach (
	'alter table zheap.undo add column b int', 'alter table zheap.undo add column b int not null default random()', 'alter table zheap.undo add column a int, add column c text',
	'alter table zheap.undo add primary key (a)', 'alter table zheap.undo add foreign key (a) references t', 'alter table zheap.undo set without cluster',
	'create index on zheap.undo (a)', 'create index on zheap.undo using brin (a)',
	'alter table zheap.undo replica identity nothing', 'alter table zheap.undo replica identity full',
	'alter table zheap.undo enable row level security', 'alter table zheap.undo force row level security',
	'create rule r as on insert to zheap.undo do instead nothing', 'create policy p on zheap.undo',
	'create trigger nothing before insert on zheap.undo execute function suppress_redundant_updates_trigger()',
	'create table child () inherits (zheap.undo)');
$node->safe_psql('postgres', 'create table parent ()');
refused($_, '0A000') foreach ('alter table zheap.undo inherit parent', 'alter table zheap.undo no inherit parent', 'alter table parent inherit zheap.undo');
$node->safe_psql('postgres', 'drop table parent');
harmless($_) foreach (
	'create publication p for all tables; drop publication p',
	'create table copied (like zheap.undo); drop table copied',
	'explain select from zheap.undo');
unharmed('after changes that only tables can have');

# tools that look at pages
SKIP:
{
	my $have = $node->safe_psql('postgres', "select count(*) from pg_available_extensions where name in ('pg_prewarm', 'pageinspect', 'amcheck', 'pgstattuple', 'pg_visibility', 'pgrowlocks', 'pg_surgery', 'pg_freespacemap')");

	skip 'extensions are missing', 1 if $have < 8;
	$node->safe_psql('postgres', "create extension $_") foreach qw(pg_prewarm pageinspect amcheck pgstattuple pg_visibility pgrowlocks pg_surgery pg_freespacemap);
	harmless($_) foreach ("select pg_prewarm('zheap.undo'), pg_prewarm('zheap.undo', 'prefetch'), pg_prewarm('zheap.undo', 'read')",
		"select count(page_header(get_raw_page('zheap.undo', b::int))) from generate_series(0, pg_relation_size('zheap.undo') / 8192 - 1) b",
		"select count(*) from generate_series(0, pg_relation_size('zheap.undo') / 8192 - 1) b, fsm_page_contents(get_raw_page('zheap.undo', 0)) c",
		"select count(*) from pg_check_visible('zheap.undo'), pg_check_frozen('zheap.undo'), pg_visibility_map('zheap.undo')",
		"select pg_truncate_visibility_map('zheap.undo')",
		"select count(*) from pg_freespace('zheap.undo')");
	refused($_, '0A000') foreach ("select count(*) from verify_heapam('zheap.undo')", "select pgstattuple('zheap.undo')", "select pgstattuple_approx('zheap.undo')",
		"select pgrowlocks('zheap.undo')", "select heap_force_kill('zheap.undo', array['(0,1)']::tid[])", "select heap_force_freeze('zheap.undo', array['(0,1)']::tid[])");
	unharmed('after tools');
	$node->safe_psql('postgres', "drop extension $_") foreach qw(pg_prewarm pageinspect amcheck pgstattuple pg_visibility pgrowlocks pg_surgery pg_freespacemap);
}

# pg_dump knows it as the extension's, and makes another database that works
$node->safe_psql('postgres', 'create database restored');
my $dump = "$dir/dump.sql";
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'pg_dump');
unlike(slurp_file($dump), qr/zheap\.undo|zheap_undo/, 'the dump does not contain it');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $dump ], 'the dump is restored');
is(table_digest($node, 't', 'restored'), table_digest($node, 't'), 'with all rows');
$node->safe_psql('restored', 'begin; update t set n = -1; rollback; vacuum zheap.undo');
is(table_digest($node, 't', 'restored'), table_digest($node, 't'), 'and its own undo');
$node->safe_psql('postgres', 'drop database restored');

# another name, another schema
foreach my $statement ('alter table zheap.undo rename to renamed', 'alter schema zheap rename to other',
	'alter table other.renamed set schema public', 'alter table renamed rename to "Undo"')
{
	harmless($statement);
	unharmed($statement);
}
$node->safe_psql('postgres', 'alter table "Undo" rename to undo; alter schema other rename to zheap; alter table undo set schema zheap');
unharmed('back again');

# another tablespace: not half, and not undone under those who wrote there
harmless('alter table zheap.undo set tablespace ts');
unharmed('in another tablespace');
harmless('begin; alter table zheap.undo set tablespace pg_default; rollback');
unharmed('a move that was rolled back');
foreach my $statement ('update t set n = n + 1 where id = 1', 'select count(*) from t where id < 10', 'insert into log default values')
{
	my ($rc, $out, $err) = $node->psql('postgres',
		"begin; alter table zheap.undo set tablespace pg_default; $statement; rollback", on_error_stop => 0);
	unharmed("moved, $statement, rolled back");
	($rc, $out, $err) = $node->psql('postgres',
		"begin; savepoint s; alter table zheap.undo set tablespace pg_default; $statement; rollback to s; update t set n = n where id = 1; commit", on_error_stop => 0);
	unlike($err, qr/WARNING/, 'no warning');
	unharmed("moved, $statement, rolled back to a savepoint");
	($rc, $out, $err) = $node->psql('postgres',
		"do \$\$ begin execute 'alter table zheap.undo set tablespace pg_default'; $statement; raise exception 'no'; end \$\$" =~ s/; select count\(\*\)/; perform count(*)/r);
	unharmed("moved, $statement, error");
}
# a long transaction that writes while it is moved
my $writer = $node->background_psql('postgres');
$writer->query_safe('begin; update t set n = n + 1000');
my ($rc, $out, $err) = $node->psql('postgres', "set lock_timeout = '200ms'; alter table zheap.undo set tablespace pg_default");
isnt($rc, 0, 'nobody moves it under a writer');
$writer->query_safe('rollback');
$writer->quit;
harmless('alter table all in tablespace ts set tablespace pg_default');
unharmed('with all tables of the tablespace');
$old->query_safe('commit');
$old->quit;

# and all of it after a crash
my $expected = table_digest($node, 't');
crash($node);
start_again($node);
is(table_digest($node, 't'), $expected, 'the same after a crash');
$node->safe_psql('postgres', 'vacuum zheap.undo');
is($node->safe_psql('postgres', 'select zheap.zheap_undo_pending()'), '0', 'all is rolled back');
is(table_digest($node, 't'), $expected, 'the same once all is rolled back');
btrees_agree($node, 'to the end', 't_pkey');

# dropped on purpose with the extension, not before
$node->safe_psql('postgres', 'drop table t, log; drop extension zheap');
is($node->safe_psql('postgres', "select count(*) from pg_class where relname = 'undo'"), '0', 'gone with the extension');
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
