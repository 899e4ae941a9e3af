-- Rows come and go anywhere in the keys, some are updated, and move where they become too long for their page.
-- :rows is how many there are on average.
\set id random(1, 2 * :rows)
\set other random(1, 2 * :rows)
delete from items where id = :id;
insert into items values (:other, :id, 'item ' || :other % 1000, 0, repeat('f', 20 + :id % 60)) on conflict do nothing;
update items set amount = amount + 1 where id between :id + 1 and :id + 4;
update items set filler = repeat('g', 20 + :id % 60) where id = :other + 1;
