# docs/settings.md, docs/views.md and docs/inspection.md tell of every setting, view, column and function that the catalog has, as they are, and of no other.
# Each has a comment, privileges are those told, and the queries of docs/monitoring.md run; at rest those for alerts return nothing.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ZheapTest;

my $node = new_server('documentation', [ 'autovacuum = off' ]);

sub document
{
	return slurp_file("$FindBin::RealBin/../../docs/$_[0].md");
}

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

# Rows of tables, each without its outer bars, whose first cell is code that begins so.
sub rows
{
	my ($text, $begins) = @_;

	return $text =~ /^\| (`\Q$begins\E.*) \|$/mg;
}

# What stands in a cell as code.
sub code
{
	return join(', ', $_[0] =~ /`([^`]*)`/g);
}

# ---- settings ----

my $settings = document('settings');
is(join("\n", sort map { s/`//gr =~ s/ *\| */|/gr } rows($settings, 'zheap.')),
	ask("select name, current_setting(name), unit, min_val, max_val, context from pg_settings where name like 'zheap.%' order by name collate \"C\""),
	'settings: default, unit, range and context');
is(join("\n", sort $settings =~ /^### (zheap\..*)$/mg),
	ask("select name from pg_settings where name like 'zheap.%' order by name collate \"C\""),
	'settings: a section for each');
is(ask("select count(*) from pg_settings where name like 'zheap.%' and (short_desc = '' or source <> 'default')"), '0', 'settings: described, and at their defaults here');

# ---- relations and their columns ----

my $members = "pg_depend d where refclassid = 'pg_extension'::regclass and refobjid = (select oid from pg_extension where extname = 'zheap') and deptype = 'e'";
my $relations = "pg_class c where oid in (select objid from $members and classid = 'pg_class'::regclass) and relkind in ('r', 'v', 'm', 'S', 'f')";
my $functions = "pg_proc p where oid in (select objid from $members and classid = 'pg_proc'::regclass)";
my $views = document('views');
my @told;
foreach my $section (split /^(?=##)/m, $views)
{
	my ($name) = $section =~ /^### (zheap\.\w+)$/m or next;

	push @told, join("\n", $name, map { join ' ', map { code($_) } (split / \| /)[ 0, 1 ] } rows($section, ''));
}
is(join("\n\n", sort @told),
	ask(<<"SQL"), 'views: every column with its type');
select string_agg(relation, e'\\n\\n' order by relation collate "C") from (
	select concat_ws(e'\\n', 'zheap.' || relname, (
		select string_agg(attname || ' ' || format_type(atttypid, atttypmod), e'\\n' order by attnum)
		from pg_attribute where attrelid = c.oid and attnum > 0)) as relation
	from $relations) x
SQL

# ---- functions ----

my @signatures = rows($views, 'zheap.');
is(join("\n", sort map { join ' returns ', map { code($_) } (split / \| /)[ 0, 1 ] } @signatures),
	ask(<<"SQL"), 'functions: arguments and results');
select string_agg(function, e'\\n' order by function collate "C") from (
	select 'zheap.' || proname || '(' || case when 'o' = any (proargmodes) then '' else pg_get_function_arguments(oid) end || ') returns ' ||
		case when 'o' = any (proargmodes) then
			(select string_agg(name || ' ' || format_type(type, null), ', ' order by i)
			from unnest(proargnames, proallargtypes) with ordinality as a (name, type, i))
		when 't' = any (proargmodes) then 'TABLE'
		else pg_get_function_result(oid) end as function
	from $functions) x
SQL

# those that return rows: a section for each, with its columns
my @shown;
foreach my $section (split /^(?=##)/m, document('inspection'))
{
	my ($name) = $section =~ /^### (zheap_\w+)$/m or next;

	push @shown, join("\n", $name, map { join ' ', map { code($_) } (split / \| /)[ 0, 1 ] } rows($section, ''));
}
is(join("\n\n", sort @shown),
	ask(<<"SQL"), 'functions: every column of what they return');
select string_agg(function, e'\\n\\n' order by function collate "C") from (
	select concat_ws(e'\\n', proname, (
		select string_agg(name || ' ' || format_type(type, null), e'\\n' order by i)
		from unnest(proargnames, proallargtypes, proargmodes) with ordinality as a (name, type, mode, i) where mode = 't')) as function
	from $functions and 't' = any (proargmodes)) x
SQL

# ---- comments ----

is(ask("select string_agg(oid::regclass::text, ' ') from $relations and obj_description(oid, 'pg_class') is null"), '', 'comments on relations');
is(ask("select string_agg(attrelid::regclass || '.' || attname, ' ') from pg_attribute where attnum > 0 and attrelid in (select oid from $relations) and col_description(attrelid, attnum) is null"),
	'', 'comments on columns');
is(ask("select string_agg(oid::regprocedure::text, ' ') from $functions and obj_description(oid, 'pg_proc') is null"), '', 'comments on functions');
is(ask("select string_agg(amname, ' ') from pg_am where amname like 'zheap%' and obj_description(oid, 'pg_am') is null"), '', 'comments on access methods');

# ---- privileges ----

# Who may do something, in the words of docs/views.md: a line for each object.
ask('create role somebody');
sub who
{
	my ($name, $privilege, $objects) = @_;
	my ($anybody, $monitor, $stats) = map { sprintf $privilege, "'$_'" } qw(somebody pg_monitor pg_read_all_stats);

	return ask(<<"SQL");
select string_agg(told, e'\\n' order by told collate "C") from (
	select $name || case when $anybody then ' any role' when $monitor and $stats then ' monitors'
		when $monitor or $stats then ' some' else ' superusers' end as told
	from $objects) x
SQL
}

my %told;
my ($plain, $behind) = $views =~ /^## Functions$(.*)^### Functions behind the views$(.*)^### Handlers/ms;
$told{$1} = $2 while $plain =~ /^\| `zheap\.(\w+)\(.*\| (any role|superusers)/mg;
$told{$1} = 'monitors' while $behind =~ /^\| `zheap\.(\w+)\(/mg;
is(who('proname', 'has_function_privilege(%s, oid, \'execute\')', "$functions and proname not like '%handler'"),
	join("\n", map { "$_ $told{$_}" } sort keys %told), 'who may call functions');
is(who('relname', 'has_table_privilege(%s, oid, \'select\')', $relations),
	join("\n", map { /^zheap\.(\w+)/; $1 . ($1 eq 'undo' ? ' superusers' : ' monitors') } sort @told), 'who may read the views');
is(who('nspname', 'has_schema_privilege(%s, oid, \'usage\')', "pg_namespace where nspname = 'zheap'"), 'zheap monitors', 'who may use the schema');

# ---- queries for monitoring ----

ask('create role watcher in role pg_monitor; create table t (id int primary key, n int) using zheap; insert into t select g, g from generate_series(1, 1000) g');
ask('update t set n = n + 1');
ask('begin; delete from t; rollback');
wait_undone($node, 'nothing is left to roll back');

my $monitoring = document('monitoring');
sub run_all
{
	my ($what) = @_;
	my $n = 0;

	while ($monitoring =~ /^([^\n]+)\n(?:[^\n]+\n)*\n```sql\n(.*?)^```$/msg)
	{
		my ($before, $query) = ($1, $2);
		my ($rc, $out, $err) = $node->psql('postgres', "set role watcher; $query", on_error_stop => 1);

		is("$rc $err", '0 ', "$what: $before") or diag($query);
		is($out, '', "$what: no alarm") if $what eq 'at rest' && $before =~ /^Alert/;
		$n++;
	}
	is($n, scalar(() = $monitoring =~ /^```sql$/mg), "$what: all queries were run");
	return;
}

run_all('at rest');
my $reader = $node->background_psql('postgres');
$reader->query_safe('begin isolation level repeatable read; select count(*) from t');
ask("begin; update t set n = 0 where id = 1; prepare transaction 'p'");
ask('begin; update t set n = 0 where id > 1; rollback');
run_all('at work');
ask("rollback prepared 'p'");
$reader->quit;
$node->stop;
no_crash_in_log($node, 'to the end');
done_testing();
