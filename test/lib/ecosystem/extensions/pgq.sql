-- Queues: events by function and by the C triggers, ticks, batches, retries, rotation of tables; a node over it.
-- package: postgresql-15-pgq3
-- package: postgresql-15-pgq-node
create extension pgq;
create extension pgq_node;
select pgq.create_queue('q');
select pgq.set_queue_config('q', 'ticker_max_count', '1');
select pgq.register_consumer('q', 'c');
create table t (id int primary key, n int, v text);
create trigger log_json after insert or update or delete on t for each row execute function pgq.jsontriga('q');
create trigger log_url after insert or update or delete on t for each row execute function pgq.logutriga('q');
create trigger log_sql after insert or update or delete on t for each row execute function pgq.sqltriga('q');
select pgq.insert_event('q', 'first', 'data') > 0;
insert into t select g, g, 'v' || g from generate_series(1, 4) g;
update t set n = n + 1 where id = 2;
begin; delete from t; select pgq.insert_event('q', 'none', '') > 0; rollback;
delete from t where id = 3;
select pgq.force_tick('q') > 0;
select pgq.ticker('q') > 0;
select pgq.next_batch('q', 'c') is not null;
select pgq.next_batch('q', 'c') as batch \gset
select ev_type, ev_data, ev_extra1 from pgq.get_batch_events(:batch) order by ev_id;
select pgq.event_retry(:batch, ev_id, 0) from pgq.get_batch_events(:batch) where ev_type = 'first';
select pgq.finish_batch(:batch);
select pgq.maint_retry_events();
select pgq.maint_rotate_tables_step1('q');
select pgq.maint_rotate_tables_step2();
update pgq.queue set queue_switch_time = now() - interval '1 day', queue_rotation_period = '1 second';
select pgq.insert_event('q', 'second', repeat('long', 5000)) > 0;
select pgq.force_tick('q') > 0;
select pgq.ticker('q') > 0;
select pgq.next_batch('q', 'c') as batch \gset
select ev_type, md5(ev_data), ev_retry from pgq.get_batch_events(:batch) order by ev_id;
select pgq.finish_batch(:batch);
select pgq.maint_rotate_tables_step1('q');
select pgq.maint_rotate_tables_step2();
update pgq.queue set queue_switch_time = now() - interval '1 day';
select pgq.maint_rotate_tables_step1('q');
select queue_name, queue_ntables, queue_cur_table from pgq.get_queue_info();
select count(*) from pgq.maint_operations();
select * from pgq_node.register_location('chain', 'root', 'dbname=eco', false);
select * from pgq_node.register_location('chain', 'branch', 'dbname=other', false);
select * from pgq_node.create_node('chain', 'root', 'root', 'worker', null, null, null);
select * from pgq_node.register_subscriber('chain', 'branch', 'branch_worker', null);
select ret_code, node_type, node_name from pgq_node.get_node_info('chain');
select * from pgq_node.unregister_subscriber('chain', 'branch');
select * from pgq_node.drop_node('chain', 'root');
select pgq.unregister_consumer('q', 'c');
select pgq.drop_queue('q');
drop trigger log_json on t;
drop trigger log_url on t;
drop trigger log_sql on t;
