-- The subscription goes, and the other database.
\c :subscriber
select pglogical.drop_subscription('s');
select pglogical.drop_node('subscriber');
\c :provider
call wait_for($$not exists (select from pg_replication_slots where active)$$);
select count(pg_drop_replication_slot(slot_name)) from pg_replication_slots;
select pglogical.drop_node('provider');
\c eco
drop database eco_other with (force);
